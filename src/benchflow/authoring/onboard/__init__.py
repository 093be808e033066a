"""`benchflow new --from-repo`: reads a repository, proposes a task, says what it could not find.

`source` opens what was named, `tree` is its files, `readers` are for one kind of file each, `infer`
puts together what they found, `proposal` writes repo.toml and `task_folder` the task. Nothing of a
repository is executed, unpacked or followed: files are read as bytes, within bounds.
"""
