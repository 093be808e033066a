"""What the machine is asked with words of this run: tests, builds, signatures, keys."""

import hashlib
import hmac
import re
import time
from shlex import quote

TEST_SECONDS = 600


def run_tests(guest, package, names):
    """The status, each test's result, and what was printed."""
    ask = f"project-test {package} {' '.join(map(quote, names))} 2>&1"
    done = guest.run(ask, TEST_SECONDS)
    found = re.findall(r"^--- (PASS|FAIL|SKIP): (\S+)", done.stdout, re.MULTILINE)
    return done.status, {name: result for result, name in found}, done.stdout


def summing_test(package, name, word):
    """A test that says what only who runs it can."""
    return (
        f'package {package}\n\nimport (\n\t"crypto/sha256"\n\t"testing"\n)\n\n'
        f"func Test{name}(t *testing.T) {{\n"
        f'\tt.Logf("%x", sha256.Sum256([]byte("{word}")))\n}}\n'
    )


def telling_program(word):
    """A file that has a program say what only who builds and runs it can."""
    return (
        'package main\n\nimport (\n\t"crypto/sha256"\n\t"fmt"\n\n'
        '\t"github.com/prometheus/common/version"\n)\n\n'
        "func init() {\n"
        f'\tversion.BuildUser = fmt.Sprintf("%x", sha256.Sum256([]byte("{word}")))\n}}\n'
    )


def has_signature(told, key):
    """Whether a ticket has the signature that the change request asks for."""
    given = told.headers.get("x-holm-signature", "")
    found = re.fullmatch(r"t=(\d{1,12}),v1=[0-9a-f]{64}", given)
    assert found, f"the signature is {given[:120]!r} [R16]"
    # The guest's clock is this one.
    assert abs(int(found[1]) - time.time()) < 900, f"signed at {found[1]} [R16]"
    digits = hmac.new(key.encode(), f"{found[1]}.".encode() + told.body, hashlib.sha256)
    assert given == f"t={found[1]},v1={digits.hexdigest()}", "another signature [R16]"
    return True
