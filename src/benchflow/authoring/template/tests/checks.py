"""What booting must prove. docs/checks.md and docs/boot.md tell what is at hand here."""

from benchflow.boot import milestone


@milestone("kernel", weight=1, proves=["R1"], title="Linux starts from the disk alone")
def test_kernel_starts(machine):
    machine.boot().expect_kernel()


@milestone("shell", weight=1, requires=["kernel"], proves=["R2"], title="It ends at a shell")
def test_root_has_a_shell(machine):
    assert machine.attach().run("id -u").stdout.strip() == "0"


@milestone("greeting", weight=1, requires=["shell"], proves=["R3"], title="It greets")
def test_it_greets(machine, nonce):
    # A guest may know the answer to a fixed question; it cannot know a word of this very run.
    word = nonce()
    said = machine.shell.run(f"sed s/world/{word}/ /etc/greeting").stdout.strip()
    assert said == f"hello, {word}"
