"""Who is asked to rate: a sheet kept by the one who asks, messages to send, and how far each came.

Nothing here sends anything, and no name leaves the sheet: links carry the sheet's ids alone.
"""
