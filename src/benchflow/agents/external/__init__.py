"""Attempts from outside: a trial waits, and somebody who is no Harbor agent does the work.

    agent     the Harbor agent that waits, until the work is handed in or the trial's time is over
    service   what it does for a driver, one call at a time; all of it is recorded
    wire      the channel: a Unix socket in the trial's folder, a line of JSON each way
    client    one call, from another process
    tools     the same calls as an MCP server on standard input and output

`wire`, `client` and `tools` know nothing of Harbor. docs/external.md tells how to use it.
"""
