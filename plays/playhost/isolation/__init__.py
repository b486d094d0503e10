"""What stands between an author's code and the machine: started before the engine, in the play's process.

``python -m plays.playhost.isolation <descriptor> <order>`` is what the worker starts. That process
is the *keeper*: it makes the play's process, waits for it, and kills all that it started.

- ``__main__``   the way from the keeper to the engine
- ``keeper``     waits, and leaves nothing running
- ``namespaces`` a process that sees no network, no other process and a few folders, all read-only
- ``view``       which folders those are
- ``landlock``   the same for files, and no TCP, where the kernel has it
- ``bounds``     memory, processes, files
- ``kernel``     the calls of the kernel that Python does not have

Nothing here imports Django or the engine: it has to be quick, and it forks.
"""
