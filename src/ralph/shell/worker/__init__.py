"""Who keeps background loops going: how a runner is started on its own, and when one is started again?"""
