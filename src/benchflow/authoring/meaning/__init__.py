"""What a gate's answer depends on, as a key that holds as long as the meaning does.

`syntax` reads a module into definitions, `reach` finds those that a task's checks and the runner
use, `renames` takes new names back to the recorded ones, `key` makes one word of it all.
"""
