"""make deps-peers: which versions of other libraries it fetches, and that it fetches what is there no second time. Nothing
is installed: pkg-config, nvcc and python are scripts that say what they were asked."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]


class Peers(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        for name, does in ('pkg-config', 'exit 0'), ('nvcc', 'exit 0'), ('fake-python', 'echo "$*"'):
            script = self.folder / name
            script.write_text(f'#!/bin/sh\n{does}\n')
            script.chmod(0o755)

    def fetched(self):
        environment = {**os.environ, 'PATH': f'{self.folder}:{os.environ["PATH"]}', 'PYTHON': 'fake-python', 'MKLROOT': '.peers'}
        run = subprocess.run(['sh', ROOT / 'test/deps-peers.sh'], cwd=self.folder, env=environment,
                             capture_output=True, text=True, check=True)
        return run.stdout

    def test_versions_are_pinned(self):
        said = self.fetched()
        for package in 'mkl==2026.', 'mkl-include==2026.', 'nvidia-cusparse==12.9.4.*', 'nvidia-nvjitlink==13.5.*':
            self.assertIn(package, said)

    def test_what_is_there_is_not_fetched_again(self):
        for name in 'include/mkl_spblas.h', 'cusparse/nvidia/cu13/lib/libcusparse.so.12', \
                'aocl/aoclda.libs/libaoclsparse-1.so':
            (self.folder / '.peers' / name).parent.mkdir(parents=True)
            (self.folder / '.peers' / name).touch()
        self.assertNotIn('pip', self.fetched())

    def test_where_it_is_put_is_where_the_program_looks(self):
        looked_for = '.peers/cusparse/nvidia/cu13/lib/libcusparse.so.12'
        self.assertIn('--target .peers/cusparse ', self.fetched())
        self.assertIn(f'$(CURDIR)/{looked_for}', (ROOT / 'mk/libraries.mk').read_text())
        self.assertIn(f'-f {looked_for} ]', (ROOT / 'test/deps-peers.sh').read_text())


if __name__ == '__main__':
    unittest.main()
