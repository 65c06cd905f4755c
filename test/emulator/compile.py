#!/usr/bin/env python3
"""compile.py CXX... FLAGS... -MMD -MP -c FILE -o OBJECT: compiles CUDA C++ for the emulator with a C++ compiler.

The file is preprocessed, what C++ has no words for is put into calls, and the result is compiled:
    kernel<<<grid, block>>>(...)    emulated::configure("kernel", kernel, grid, block)(...)
    (const void *)kernel            emulated::erase{file, line}->*kernel
    __shared__ real sums[32];       static real sums[32]; and emulated::fresh(), which fills it
    extern __shared__ real room[];  a pointer to the block's dynamic shared memory
    asm("ld.shared.f64 ...")        emulated::ld_shared(...)
"""
import os
import re
import subprocess
import sys

CALLEE = r'(\w+(?:\s*<[^<>;{}]*>)?(?:\([^()]*\))?)'
LAUNCH = re.compile(CALLEE + r'\s*<<<(.*?)>>>\s*\(', re.S)
ERASED = re.compile(r'\(const void \*\)')
DYNAMIC = re.compile(r'extern\s+__shared__\s+(?:__attribute__\(\(aligned\(\d+\)\)\)\s*)?([\w ]+?)\s*(\w+)\[\];')
STATIC = re.compile(r'__shared__\s+([^;]*);')
ASM = re.compile(r'\basm\s*(?:volatile)?\s*\(')


def closing(text, at):
    """Finds where the parenthesis ends that is open before `at`; strings are skipped."""
    depth = 1
    while depth:
        if text[at] == '"':
            at = re.compile(r'"(?:\\.|[^"\\])*"').match(text, at).end()
            continue
        depth += (text[at] == '(') - (text[at] == ')')
        at += 1
    return at


def call_of_asm(body):
    """Reads what stands between asm's parentheses: a call that is named by the first two words of each instruction."""
    template = re.match(r'\s*(?:"(?:\\.|[^"\\])*"\s*)+', body)
    words = ''.join(re.findall(r'"((?:\\.|[^"\\])*)"', template.group())).replace('\\n', ';').replace('\\t', ' ')
    opcodes = re.findall(r'(?:^|[;{])\s*(?:@\w+\s+)?([a-z]\w*(?:\.\w+)?)', words)
    operands, at = [], template.end()
    constraint = re.compile(r'"[=+]?[rhldf]"\s*\(')
    while True:
        found = constraint.search(body, at)
        if not found:
            break
        at = closing(body, found.end())
        operands.append(body[found.end():at - 1])
    if not opcodes:
        return ''
    return 'emulated::%s(%s)' % ('_'.join(opcodes).replace('.', '_'), ', '.join(operands))


def without_asm(text):
    out, at = [], 0
    for found in ASM.finditer(text):
        end = closing(text, found.end())
        body = text[found.end():end - 1]
        lines = '\n' * text.count('\n', found.start(), end) # those behind keep their numbers
        out += [text[at:found.start()], call_of_asm(body).replace('\n', ' '), lines]
        at = end
    return ''.join(out) + text[at:]


def static_shared(found):
    """Every variable of the declaration is filled when the first thread of a block comes by."""
    declared = re.sub(r'\[[^]]*\]', '', found.group(1))
    names = [re.search(r'(\w+)\s*$', part).group(1) for part in re.sub(r'<[^<>]*>', '', declared).split(',')]
    calls = ['emulated::fresh(&%s, sizeof %s, &block_of_%s_);' % (n, n, n) for n in names]
    marks = 'static unsigned %s;' % ', '.join('block_of_%s_' % n for n in names)
    return 'static %s; %s %s' % (found.group(1), marks, ' '.join(calls))


def dynamic_shared(found):
    return '%s *const %s = (%s *)emulated::dynamic_shared();' % (found.group(1), found.group(2), found.group(1))


def launched(found):
    callee = found.group(1)
    return 'emulated::configure("%s", %s, %s)(' % (' '.join(callee.split()), callee, found.group(2))


def translate(text):
    text = without_asm(text)
    text = DYNAMIC.sub(dynamic_shared, text)
    text = STATIC.sub(static_shared, text)
    text = LAUNCH.sub(launched, text)
    return ERASED.sub('emulated::erase{__builtin_FILE(), __builtin_LINE()}->*', text)


def ours(preprocessed):
    """Pieces of the text: whether it comes from a file of this project, and the text."""
    marker = re.compile(r'^# \d+ "([^"]*)".*$', re.M)
    starts = [(m.start(), os.path.normpath(m.group(1)).startswith(('cuda/', 'test/unit/', 'test/solver')))
              for m in marker.finditer(preprocessed)]
    begin, kind = 0, False
    for start, is_ours in starts + [(len(preprocessed), None)]:
        if is_ours != kind:
            yield kind, preprocessed[begin:start]
            begin, kind = start, is_ours


def main(arguments):
    obj = arguments[arguments.index('-o') + 1]
    source = arguments[arguments.index('-c') + 1]
    words = [a for a in arguments if a not in ('-c', '-o', source, obj, '-MMD', '-MP')]
    depends = ['-MMD', '-MP', '-MF', os.path.splitext(obj)[0] + '.d', '-MT', obj]
    preprocessed = subprocess.run(words + ['-E', '-x', 'c++', source] + depends, check=True, stdout=subprocess.PIPE,
                                  encoding='utf-8').stdout
    text = ''.join(translate(piece) if is_ours else piece for is_ours, piece in ours(preprocessed))
    translated = os.path.splitext(obj)[0] + '.ii'
    with open(translated, 'w', encoding='utf-8') as file:
        file.write(text)
    return subprocess.run(words + ['-c', translated, '-o', obj]).returncode


if __name__ == '__main__':
    try:
        sys.exit(main(sys.argv[1:]))
    except subprocess.CalledProcessError as failed:
        sys.exit(failed.returncode)
