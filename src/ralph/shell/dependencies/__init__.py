"""Where do a judged tree's dependencies come from?"""
