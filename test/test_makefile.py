"""The goals that install or remove: alone, beside others, and where nothing may be changed. On a copy of the Makefile."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[1]
STEP = 'echo "{0} begins" >>steps; sleep 0.2; echo "{0} ends" >>steps; touch installed\n'


class Goals(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(ROOT / 'Makefile', self.folder)
        for folder in 'test', 'bin', 'build':
            (self.folder / folder).mkdir()
        (self.folder / 'build/keep').touch()
        for script in 'deps', 'deps-peers':
            (self.folder / f'test/{script}.sh').write_text(STEP.format(script))
        config = self.folder / 'bin/pkg-config' # knows no library before the script has run
        config.write_text('#!/bin/sh\n[ -e installed ]\n')
        config.chmod(0o755)

    def make(self, *words, **more):
        environment = {k: v for k, v in os.environ.items() if not k.startswith('MAKE') and k != 'MFLAGS'}
        path = f'{self.folder}/bin:{environment["PATH"]}'
        run = subprocess.run(['make', *words], cwd=self.folder, env={**environment, 'PATH': path, **more},
                             capture_output=True, text=True)
        return run.stdout

    def steps(self):
        file = self.folder / 'steps'
        return file.read_text().splitlines() if file.exists() else []

    def found(self, output):
        return next(line.split()[1:] for line in output.splitlines() if line.startswith('found'))

    def jobs(self, *goals, **more):
        flags = [line for line in self.make('-pn', *goals, **more).splitlines() if line.startswith('MAKEFLAGS = ')]
        return '-j' in flags[-1]

    def test_what_deps_installs_is_found_by_the_goals_beside_it(self):
        self.assertNotIn('jansson', self.found(self.make('info')))
        for _ in range(2): # also where build/.first is left from before
            (self.folder / 'installed').unlink(missing_ok=True)
            self.assertIn('jansson', self.found(self.make('deps', 'info')))
        self.assertEqual(self.steps(), ['deps begins', 'deps ends'] * 2)

    def test_clean_comes_first(self):
        self.make('info', 'clean')
        self.assertFalse((self.folder / 'build/keep').exists())

    def test_clean_alone_leaves_nothing(self):
        self.make('clean')
        self.assertFalse((self.folder / 'build').exists())

    def test_asking_changes_nothing(self):
        for flag in '-n', '-q', '-t':
            self.make(flag, 'clean', 'deps', 'info')
            self.assertTrue((self.folder / 'build/keep').exists(), flag)
        self.assertEqual(self.steps(), [])

    def test_two_that_install_take_turns(self):
        for more in (), ('info',):
            self.make('deps', 'deps-peers', *more)
        self.assertEqual(self.steps(), ['deps begins', 'deps ends', 'deps-peers begins', 'deps-peers ends'] * 2)

    def test_one_goal_is_compiled_on_all_processors(self):
        self.assertTrue(self.jobs('info'))
        self.assertTrue(self.jobs('clean', 'info'))
        self.assertFalse(self.jobs('info', 'lint'))
        self.assertFalse(self.jobs('deps', 'deps-peers'))


if __name__ == '__main__':
    unittest.main()
