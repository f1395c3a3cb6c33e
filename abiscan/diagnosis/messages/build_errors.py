"""A source that does not compile with the headers of the torch that is there: built-for-older-torch."""

from __future__ import annotations

from abiscan.diagnosis.messages.mention import Mention
from abiscan.diagnosis.missing_name import MissingName
from abiscan.diagnosis.ranking import Candidate, Candidates
from abiscan.model.cause import CauseId


def undeclared(mention: Mention) -> Candidates:
    """`'AT_CHECK' was not declared`, `THC/THC.h: No such file`"""
    name = mention.text
    of_thc = name != "AT_CHECK"
    first = f"The source was written for an older torch: today's headers have no {name}."
    if of_thc:
        evidence = (first, "It is of TH or THC, the C libraries of torch up to 1.10.")
        fix = "abiscan rules thc-api  # what is written in place of each"
    else:
        evidence = (first, "TORCH_CHECK has taken its place.")
        fix = "abiscan fix DIRECTORY  # writes TORCH_CHECK in place of AT_CHECK"
    newer = f"{fix}\nor build a newer release of the project, which is made for this torch."
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.9, evidence, newer)


def old_standard(mention: Mention, missing: MissingName) -> Candidates:
    """`C++17 or later compatible compiler is required to use ATen`"""
    standard = mention.text
    target = f"the headers of {missing.target_label}" if missing.target is not None else "torch's headers"
    evidence = (
        f"The source is compiled with an older C++ than {standard}, for which {target} ask.",
        "Build scripts that were written for an older torch give -std themselves.",
    )
    flag = f"-std={standard.lower()}"
    fix = (
        f"grep -rn -e '-std=' setup.py CMakeLists.txt  # take it out, or write {flag} (for nvcc too)\n"
        f"or a newer release of the project; {standard} needs a compiler that knows it"
    )
    yield Candidate(CauseId.BUILT_FOR_OLDER_TORCH, 0.85, evidence, fix)
