#!/bin/bash
# Repairs what was left, milestone by milestone, and builds. STOP_AFTER=<milestone> builds what is
# repaired by then.
set -euo pipefail
cd /app/tarn
from-tasks-lib swap.sh

reached() {
    echo "reached: $1"
    [ "${STOP_AFTER:-}" != "$1" ] || exec bash build.sh
}

# --- repository ----------------------------------------------------------------------------------
# @parts repaired repository
reached repository

# --- boots ---------------------------------------------------------------------------------------
# @parts repaired boots
reached boots

# --- stands --------------------------------------------------------------------------------------
# @parts repaired stands
reached stands

# --- whole ---------------------------------------------------------------------------------------
# @parts repaired whole
reached whole

# --- trusts --------------------------------------------------------------------------------------
# @parts repaired trusts
reached trusts

# --- installs ------------------------------------------------------------------------------------
# @parts repaired installs
reached installs

# --- refuses -------------------------------------------------------------------------------------
# @parts repaired refuses
reached refuses

# --- configures ----------------------------------------------------------------------------------
# @parts repaired configures
reached configures

# --- upgrades ------------------------------------------------------------------------------------
# @parts repaired upgrades
reached upgrades

# --- removes -------------------------------------------------------------------------------------
# @parts repaired removes
reached removes

# --- builds --------------------------------------------------------------------------------------
# @parts repaired builds
reached builds

# --- undoes --------------------------------------------------------------------------------------
# @parts repaired undoes
reached undoes

# --- returns -------------------------------------------------------------------------------------
# @parts repaired returns
reached returns

# --- itself --------------------------------------------------------------------------------------
# @parts repaired itself
reached itself

# --- survives ------------------------------------------------------------------------------------
# @parts repaired survives
reached survives

bash build.sh
