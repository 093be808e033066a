#!/bin/bash
# Repairs what was left, milestone by milestone. STOP_AFTER=<milestone> leaves the rest.
set -euo pipefail
cd /app/kernel
from-tasks-lib swap.sh

reached() {
    echo "reached: $1"
    [ "${STOP_AFTER:-}" != "$1" ] || exit 0
}

# --- builds ---------------------------------------------------------------------------------------
# @parts repaired builds
reached builds

# --- first-line -----------------------------------------------------------------------------------
# @parts repaired first-line
reached first-line

# --- memory-map -----------------------------------------------------------------------------------
# @parts repaired memory-map
reached memory-map

# --- panic ----------------------------------------------------------------------------------------
# @parts repaired panic
reached panic

# --- power-off ------------------------------------------------------------------------------------
# @parts repaired power-off
reached power-off

# --- elf ------------------------------------------------------------------------------------------
# @parts repaired elf
reached elf

# --- write-read -----------------------------------------------------------------------------------
# @parts repaired write-read
reached write-read

# --- memory ---------------------------------------------------------------------------------------
# @parts repaired memory
reached memory

# --- files ----------------------------------------------------------------------------------------
# @parts repaired files
reached files

# --- processes ------------------------------------------------------------------------------------
# @parts repaired processes
reached processes

# --- pipes ----------------------------------------------------------------------------------------
# @parts repaired pipes
reached pipes

# --- signals --------------------------------------------------------------------------------------
# @parts repaired signals
reached signals

# --- shell ----------------------------------------------------------------------------------------
# @parts repaired shell
reached shell

# --- time -----------------------------------------------------------------------------------------
# @parts repaired time
reached time

# --- terminal -------------------------------------------------------------------------------------
# @parts repaired terminal
reached terminal

# --- demand-paging --------------------------------------------------------------------------------
# @parts repaired demand-paging
reached demand-paging

# --- file-writes ----------------------------------------------------------------------------------
# @parts repaired file-writes
reached file-writes

# --- threads --------------------------------------------------------------------------------------
# @parts repaired threads
reached threads

# --- polling --------------------------------------------------------------------------------------
# @parts repaired polling
reached polling

# --- unix-sockets ---------------------------------------------------------------------------------
# @parts repaired unix-sockets
reached unix-sockets

# --- network --------------------------------------------------------------------------------------
# @parts repaired network
reached network

# --- tcp ------------------------------------------------------------------------------------------
# @parts repaired tcp
reached tcp

# --- two-processors -------------------------------------------------------------------------------
# @parts repaired two-processors
reached two-processors

# --- memory-pressure ------------------------------------------------------------------------------
# @parts repaired memory-pressure
reached memory-pressure

# --- stress-night ---------------------------------------------------------------------------------
# @parts repaired stress-night
reached stress-night

# --- power-cuts -----------------------------------------------------------------------------------
# @parts repaired power-cuts
reached power-cuts
