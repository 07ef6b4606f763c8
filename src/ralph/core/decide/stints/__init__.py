"""Who drives a loop, and when: what people ask of it, the queue, and what a worker takes up again."""
