"""The goals that install or remove: alone, beside others, and where nothing may be changed; the settings that are
remembered. On a copy of the Makefile."""
import os
import pathlib
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTINGS = 'CC', 'OPT', 'MARCH', 'CUDA_ARCH', 'LIBS_WANTED', 'MKLROOT'
OF_THE_CALLER = 'MFLAGS', 'CFLAGS', 'NVCC', 'WERROR', 'SAN', 'BUILD', 'PART', 'V' # make exports what it was given
STEP = 'echo "{0} begins" >>steps; sleep 0.2; echo "{0} ends" >>steps; touch installed\n'


class Copy(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(ROOT / 'Makefile', self.folder)
        for folder in 'test', 'bin', 'build', 'src', 'src/app', 'test/unit':
            (self.folder / folder).mkdir()
        shutil.copy(ROOT / 'src/app/changed.sh', self.folder / 'src/app')
        for part in 'src/install/install.mk', 'tables/tables.mk', 'test/emulator/emulator.mk':
            (self.folder / part).parent.mkdir()
            shutil.copy(ROOT / part, self.folder / part)
        (self.folder / 'build/keep').touch()
        for script in 'deps', 'deps-peers':
            (self.folder / f'test/{script}.sh').write_text(STEP.format(script))
        config = self.folder / 'bin/pkg-config' # knows no library before the script has run
        config.write_text('#!/bin/sh\n[ -e installed ]\n')
        config.chmod(0o755)

    def make(self, *words, **more):
        environment = {k: v for k, v in os.environ.items() if not k.startswith('MAKE') and k not in (*OF_THE_CALLER, *SETTINGS)}
        path = f'{self.folder}/bin:{environment["PATH"]}'
        run = subprocess.run(['make', *words], cwd=self.folder, env={**environment, 'PATH': path, **more},
                             capture_output=True, text=True)
        return run.stdout

    def info(self, name, *words, **more):
        """(origin, value) of one setting"""
        line = next(line for line in self.make('info', *words, **more).splitlines() if line.startswith(name + ' '))
        return line[13:26].strip(), line[27:]


class Goals(Copy):
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


class Settings(Copy):
    """One file is compiled, which is what makes make remember."""
    OBJECT = 'build/omp/test/unit/test_one.o'

    def setUp(self):
        super().setUp()
        (self.folder / 'test/unit/test_one.c').write_text('int main(void) { return 0; }\n')

    def build(self, *words, **more):
        return self.make(self.OBJECT, *words, **more)

    def test_where_a_value_comes_from(self):
        self.assertEqual(self.info('MARCH'), ('default', 'native'))
        self.assertEqual(self.info('MARCH', MARCH='x86-64'), ('environment', 'x86-64'))
        self.build('MARCH=x86-64')
        self.assertEqual(self.info('MARCH'), ('remembered', 'x86-64'))
        self.assertEqual(self.info('MARCH', MARCH='core2'), ('environment', 'core2'))
        self.assertEqual(self.info('MARCH', 'MARCH=k8', MARCH='core2'), ('command line', 'k8'))
        self.assertEqual(self.info('OPT'), ('default', '-O3'))

    def test_every_setting_is_remembered_until_clean(self):
        values = dict(zip(SETTINGS, ('gcc -pipe', '-O1', 'core2', 'sm_90', 'jansson', '/opt/mkl')))
        self.build(*(f'{name}={value}' for name, value in values.items() if name != 'OPT'), OPT='-O1')
        self.build() # neither forgets
        self.build('MARCH=core2')
        for name, value in values.items():
            self.assertEqual(self.info(name), ('remembered', value))
        self.make('clean')
        for name in SETTINGS:
            self.assertEqual(self.info(name)[0], 'default')

    def test_the_last_one_given_counts_after_clean_too(self):
        self.build('MARCH=core2', 'OPT=-O1')
        self.make('clean', self.OBJECT, 'MARCH=k8')
        self.assertEqual((self.info('MARCH'), self.info('OPT')), (('remembered', 'k8'), ('default', '-O3')))
        self.build('MARCH=native')
        self.assertEqual(self.info('MARCH'), ('remembered', 'native'))

    def test_clean_forgets_what_cannot_be_read(self):
        settings = self.folder / 'build/settings'
        for goals in ('clean',), ('clean', self.OBJECT):
            self.build('MARCH=core2')
            settings.write_text('define was_MARCH\n')
            self.make(*goals)
            self.assertEqual((settings.exists(), self.info('MARCH')), (len(goals) > 1, ('default', 'native')))

    def test_settings_that_cannot_be_written_stay_as_they_are(self):
        self.build('MARCH=core2')
        (self.folder / 'build/settings.new').symlink_to('/nonexistent/folder')
        self.build('MARCH=k8')
        self.assertEqual(self.info('MARCH'), ('remembered', 'core2'))

    def test_nothing_is_a_value(self):
        (self.folder / 'installed').touch() # a library is found
        self.assertIn('libarchive', self.make('info'))
        self.build('LIBS_WANTED=')
        self.assertEqual((self.info('LIBS_WANTED'), self.info('found')), (('remembered', ''), ('', '')))

    def test_characters_of_make_and_of_the_shell(self):
        value = """-O1  -DA='"a b"' -DB='#$$c' -DC='\\\\' -DD='%s;`'"""
        self.build('OPT=' + value)
        object_file = self.folder / self.OBJECT
        self.assertTrue(object_file.exists())
        self.assertEqual(self.info('OPT'), ('remembered', value.replace('$$', '$')))
        built = object_file.stat().st_mtime_ns
        self.build()
        self.assertEqual(object_file.stat().st_mtime_ns, built)

    def test_asking_remembers_nothing(self):
        for words in ('-n',), ('-q',), ('-t',):
            self.build(*words, 'MARCH=core2')
        self.make('info', 'MARCH=core2')
        self.assertFalse((self.folder / 'build/settings').exists())

    def test_what_changed_flags_build_again_is_told_once(self):
        self.assertNotIn('again', self.build())
        self.assertIn('  flags changed (-march=native -> -march=x86-64): building build/omp again',
                      self.build('MARCH=x86-64').splitlines())
        self.assertEqual(self.build(), '')
        self.assertIn('(nothing -> -Werror)', self.build('WERROR=1'))
        self.assertIn('(-Werror -> nothing)', self.build())

    def test_what_other_libraries_build_again_is_told(self):
        features = 'build/omp/.features'
        self.assertNotIn('again', self.make(features))
        (self.folder / 'installed').touch()
        self.assertIn('-DHAVE_JANSSON): building what asks for libraries in build/omp again',
                      self.make(features, 'LIBS_WANTED=jansson'))

    def test_a_place_of_onemkl_is_remembered_when_it_is_installed_there(self):
        self.make('deps-peers', 'MKLROOT=/opt/mkl')
        self.assertEqual(self.info('MKLROOT'), ('remembered', '/opt/mkl'))


class Library(Copy):
    def test_a_source_that_is_gone_leaves_the_library(self):
        sources = [self.folder / name for name in ('src/core/kept.c', 'src/core/gone.c', 'cuda/absent.c', 'cuda/propose.c', 'cuda/cusparse_library.c')]
        for source in sources:
            source.parent.mkdir(exist_ok=True)
            source.write_text(f'extern int {source.stem};\n')
        library = self.folder / 'build/omp/parts.a'
        for gone in False, True:
            self.make('build/omp/parts.a')
            objects = subprocess.run(['ar', 't', library], capture_output=True, text=True).stdout.split()
            self.assertIn('kept.o', objects)
            self.assertEqual('gone.o' in objects, not gone)
            sources[1].unlink(missing_ok=True)


class BuildInfo(unittest.TestCase):
    def test_what_lies_beside_the_sources_does_not_make_the_build_another(self):
        with tempfile.TemporaryDirectory() as folder:
            def run(*words):
                return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
            def dirty():
                return '#define BUILD_DIRTY 1' in run('sh', ROOT / 'src/app/record/build_info.sh', 'cc', '', '', '', '', '').splitlines()
            for name in 'Makefile', 'include/a.h', 'src/a.c', 'omp/a.c', 'cuda/a.cu':
                file = pathlib.Path(folder, name)
                file.parent.mkdir(exist_ok=True)
                file.touch()
            run('git', 'init', '-q')
            run('git', 'add', '.')
            run('git', '-c', 'user.name=a', '-c', 'user.email=a@b', 'commit', '-qm', 'one')
            self.assertFalse(dirty())
            pathlib.Path(folder, 'mine.mtx').touch()
            self.assertFalse(dirty())
            pathlib.Path(folder, 'src/new.c').touch()
            self.assertTrue(dirty())


class Tables(Copy):
    def test_tables_are_of_the_own_logs_unless_others_are_named(self):
        self.assertIn('make_tables.py --out tables log\n', self.make('-n', 'tables'))
        self.assertIn('make_tables.py --out tables log/reference a.jsonl\n', self.make('-n', 'tables', 'LOGS=log/reference a.jsonl'))


class Cuda(Copy):
    def setUp(self):
        super().setUp()
        for kernel, macro in ('csr/offsets', 'SPMV_EXPORT_KERNEL'), ('ell/none', 'SPMV_EXPORT_ANY_OFFSETS_KERNEL'), ('peers/other', ''):
            file = self.folder / 'cuda' / (kernel + '.cu')
            file.parent.mkdir(parents=True)
            file.write_text(f'{macro}({file.stem}) = {{}};\n')

    def test_a_kernel_without_offsets_is_compiled_once_per_precision(self):
        objects = next(line for line in self.make('-pn', 'cuda').splitlines() if line.startswith('cuda_objects_cuda'))
        of = {name: {path.split('.')[1] for path in objects.split() if f'/{name}.' in path} for name in ('offsets', 'none', 'other')}
        self.assertEqual(of, {'offsets': {'f64_o32', 'f64_o64', 'f32_o32', 'f32_o64'}, 'none': {'f64_o32', 'f32_o32'},
                              'other': {'f64_o32', 'f32_o32'}})

    def test_so_are_formats_and_the_hosts_kernels(self):
        for path, macro in (('src/formats/ell/format_ell.c', 'SPMV_EXPORT_ANY_OFFSETS_FORMAT'), ('src/formats/csr/format_csr.c', 'SPMV_EXPORT_FORMAT'),
                            ('omp/ell/ell_rows.c', 'SPMV_EXPORT_ANY_OFFSETS_KERNEL'), ('cuda/csell/build_csell.cu', 'EXPORT_NARROW_BUILDER')):
            (self.folder / path).parent.mkdir(parents=True, exist_ok=True)
            (self.folder / path).write_text(f'{macro}(name) = {{}};\n')
        lines = self.make('-pn', 'cuda').splitlines()
        objects = next(line for line in lines if line.startswith('lib_cuda :='))
        of = {name: sorted(path.split('.')[1] for path in objects.split() if f'/{name}.' in path)
              for name in ('format_ell', 'format_csr', 'ell_rows', 'build_csell')}
        narrow = ['f32_o32', 'f64_o32']
        self.assertEqual(of, {'format_ell': narrow, 'format_csr': ['f32_o32', 'f32_o64', 'f64_o32', 'f64_o64'],
                              'ell_rows': narrow, 'build_csell': narrow})

    def test_for_which_gpu_is_said_where_there_is_none(self):
        here = os.path.exists('/dev/nvidia0')
        self.assertEqual(self.info('CUDA_ARCH'), ('default', 'native' if here else 'sm_90'))
        self.assertEqual('all-major' in self.make('-n', 'cuda'), not here)
        self.assertNotIn('all-major', self.make('-n', 'cuda', 'CUDA_ARCH=sm_90'))


if __name__ == '__main__':
    unittest.main()
