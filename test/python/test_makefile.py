"""The goals that install or remove: alone, beside others, and where nothing may be changed; the settings that are
remembered; what is compiled, and how far make says it is. On a copy of the Makefile and its parts."""
import os
import pathlib
import re
import shutil
import subprocess
import tempfile
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
SETTINGS = 'CC', 'OPT', 'MARCH', 'CUDA_ARCH', 'LIBS_WANTED', 'MKLROOT'
OF_THE_CALLER = 'MFLAGS', 'CFLAGS', 'NVCC', 'WERROR', 'SAN', 'BUILD', 'PART', 'V', 'CUDA_HOME' # make exports what it was given
STEP = 'echo "{0} begins" >>steps; sleep 0.2; echo "{0} ends" >>steps; touch installed\n'


class Copy(unittest.TestCase):
    def setUp(self):
        self.folder = pathlib.Path(tempfile.mkdtemp())
        self.addCleanup(shutil.rmtree, self.folder)
        shutil.copy(ROOT / 'Makefile', self.folder)
        shutil.copytree(ROOT / 'mk', self.folder / 'mk')
        (self.folder / 'include').mkdir()
        shutil.copy(ROOT / 'include/spmv_variant.h', self.folder / 'include') # it lists the variants
        for folder in 'bin', 'build', 'src/install', 'test/unit':
            (self.folder / folder).mkdir(parents=True)
        (self.folder / 'src/install/exports.map').touch()
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
        for _ in range(2):
            (self.folder / 'installed').unlink(missing_ok=True)
            self.assertIn('jansson', self.found(self.make('deps', 'info')))
        self.assertEqual(self.steps(), ['deps begins', 'deps ends'] * 2)

    def test_so_it_is_where_all_run_at_once(self):
        self.assertIn('jansson', self.found(self.make('-j4', 'info', 'deps')))

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
        self.assertEqual(self.info('MARCH'), ('config.mk', 'x86-64'))
        self.assertEqual(self.info('MARCH', MARCH='core2'), ('environment', 'core2'))
        self.assertEqual(self.info('MARCH', 'MARCH=k8', MARCH='core2'), ('command line', 'k8'))
        self.assertEqual(self.info('OPT'), ('default', '-O3'))

    def test_every_setting_is_remembered_until_clean(self):
        values = dict(zip(SETTINGS, ('gcc -pipe', '-O1', 'core2', 'sm_90', 'jansson', '/opt/mkl')))
        self.build(*(f'{name}={value}' for name, value in values.items() if name != 'OPT'), OPT='-O1')
        self.build() # neither forgets
        self.build('MARCH=core2')
        for name, value in values.items():
            self.assertEqual(self.info(name), ('config.mk', value))
        self.make('clean')
        for name in SETTINGS:
            self.assertEqual(self.info(name)[0], 'default')

    def test_the_last_one_given_counts_after_clean_too(self):
        self.build('MARCH=core2', 'OPT=-O1')
        self.make('clean', self.OBJECT, 'MARCH=k8')
        self.assertEqual((self.info('MARCH'), self.info('OPT')), (('config.mk', 'k8'), ('default', '-O3')))
        self.build('MARCH=native')
        self.assertEqual(self.info('MARCH'), ('config.mk', 'native'))

    def test_clean_forgets_what_cannot_be_read(self):
        settings = self.folder / 'config.mk'
        for goals in ('clean',), ('clean', self.OBJECT):
            self.build('MARCH=core2')
            settings.write_text('define was_MARCH\n')
            self.make(*goals)
            self.assertEqual((settings.exists(), self.info('MARCH')), (len(goals) > 1, ('default', 'native')))

    def test_settings_that_cannot_be_written_stay_as_they_are(self):
        self.build('MARCH=core2')
        (self.folder / 'config.mk.new').symlink_to('/nonexistent/folder')
        self.build('MARCH=k8')
        self.assertEqual(self.info('MARCH'), ('config.mk', 'core2'))

    def test_nothing_is_a_value(self):
        (self.folder / 'installed').touch() # a library is found
        self.assertIn('libarchive', self.make('info'))
        self.build('LIBS_WANTED=')
        self.assertEqual((self.info('LIBS_WANTED'), self.info('found')), (('config.mk', ''), ('', '')))

    def test_characters_of_make_and_of_the_shell(self):
        value = """-O1  -DA='"a b"' -DB='#$$c' -DC='\\\\' -DD='%s;`'"""
        self.build('OPT=' + value)
        object_file = self.folder / self.OBJECT
        self.assertTrue(object_file.exists())
        self.assertEqual(self.info('OPT'), ('config.mk', value.replace('$$', '$')))
        built = object_file.stat().st_mtime_ns
        self.build()
        self.assertEqual(object_file.stat().st_mtime_ns, built)

    def test_asking_remembers_nothing(self):
        for words in ('-n',), ('-q',), ('-t',):
            self.build(*words, 'MARCH=core2')
        self.make('info', 'MARCH=core2')
        self.assertFalse((self.folder / 'config.mk').exists())

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
        self.assertEqual(self.info('MKLROOT'), ('config.mk', '/opt/mkl'))


    def test_lines_of_others_stay_in_config_mk(self):
        config = self.folder / 'config.mk'
        self.build('MARCH=core2', 'OPT=-O1')
        self.assertEqual(config.read_text().splitlines()[1:], ['OPT ?= -O1', 'MARCH ?= core2'])
        config.write_text('# mine\nMARCH = k8\nCFLAGS ?= -O2 -march=$(MARCH)\n')
        self.assertEqual(self.info('CFLAGS')[1], '-O2 -march=k8')
        self.assertEqual(self.info('MARCH'), ('config.mk', 'k8'))
        self.build('OPT=-Og')
        self.build('MARCH=x86-64')
        self.assertEqual(config.read_text(), '# mine\nMARCH ?= x86-64\nCFLAGS ?= -O2 -march=$(MARCH)\nOPT ?= -Og\n')

    def test_clean_takes_config_mk_away(self):
        self.build('MARCH=core2')
        self.make('clean')
        self.assertFalse((self.folder / 'config.mk').exists())


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
    def test_a_compiler_that_is_given_options_says_its_version(self):
        words = 'sh', ROOT / 'src/app/record/build_info.sh', 'cc -O1', '', 'echo V, release 13', '', '', ''
        run = subprocess.run(words, cwd=ROOT, capture_output=True, text=True, check=True)
        self.assertIn('#define BUILD_NVCC "release 13 --version"', run.stdout.splitlines())

    def test_what_lies_beside_the_sources_does_not_make_the_build_another(self):
        with tempfile.TemporaryDirectory() as folder:
            def run(*words):
                return subprocess.run(words, cwd=folder, capture_output=True, text=True, check=True).stdout
            def dirty():
                return '#define BUILD_DIRTY 1' in run('sh', ROOT / 'src/app/record/build_info.sh', 'cc', '', '', '', '', '').splitlines()
            for name in 'Makefile', 'mk/a.mk', 'include/a.h', 'src/a.c', 'omp/a.c', 'cuda/a.cu':
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


class Text(unittest.TestCase):
    PARTS = [ROOT / 'Makefile', *sorted((ROOT / 'mk').glob('*.mk'))]

    def test_make_neither_calls_nor_reads_itself_again(self):
        for part in self.PARTS:
            text = re.sub(r'^include mk/[a-z]+[.]mk$', '', part.read_text(), flags=re.M)
            self.assertNotRegex(text, r'[$][({]MAKE[)}]|MAKE_RESTARTS|MAKE_COMMAND|(?<!-)\\binclude [^<]', part)

    def test_every_part_is_included(self):
        self.assertEqual(sorted(re.findall(r'^include (.*)$', self.PARTS[0].read_text(), re.M)),
                         [str(part.relative_to(ROOT)) for part in self.PARTS[1:]])


class Progress(Copy):
    """A project of a few files: what make says that it compiles, and how far it is."""
    SOURCES = {'src/api.c': '#include "core/core.h"\nint spmv_api(void) { return CORE; }\n',
               'src/core/core.h': '#define CORE 1\n', 'src/core/core.c': '#include "core/core.h"\nint core = CORE;\n',
               'src/io/archive.c': '#ifdef HAVE_LIBARCHIVE\nint archives;\n#endif\nint archive;\n',
               'omp/csr/csr_rows.c': '#include "core/core.h"\nint NAME(SPMV_SUFFIX);\n',
               'src/app/main.c': 'int main(void) { return 0; }\n', 'src/app/record/record.c': '#include "build_info.h"\n',
               'src/wisdom/wisdom_key.c': '#include "build_info.h"\n', 'cuda/absent.c': 'int absent;\n',
               'cuda/propose.c': 'int propose;\n', 'cuda/cusparse_library.c': 'char *path = FETCHED_CUSPARSE;\n',
               'cuda/backend.cu': '', 'cuda/scan.cu': '', 'cuda/csr/csr_warp.cu': ''}
    C = 3 + 4 + 2 + 1 + 3 # every source, csr_rows in four variants
    # In place of the compilers: writes what -o names, and beside it a .d with the source and its headers.
    COMPILER = r"""#!/bin/sh
case " $* " in *' -E '*) exit 1 ;; esac
for word; do
    case $last in -c) source=$word ;; -o) object=$word ;; esac
    last=$word
done
touch "$object"
[ "$source" ] || exit 0
headers=$(sed -n 's:^#include "\(core/.*\)":src/\1:p' "$source")
printf '%s : \\\n %s\n%s\n' "$object" "$source $headers" "${headers:+$headers:}" >"${object%.o}.d"
if grep -q mistake "$source"; then rm "$object"; exit 1; fi
"""

    def setUp(self):
        super().setUp()
        for name, text in self.SOURCES.items():
            file = self.folder / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(text)
        (self.folder / 'src/app/record/build_info.sh').write_text('echo "/* $3 */"\n')
        for name, text in ('gcc', self.COMPILER), ('nvcc', self.COMPILER), ('ar', '#!/bin/sh\ntouch "$2"\n'), ('objcopy', '#!/bin/sh\n'), \
                ('pkg-config', '#!/bin/sh\n[ -e installed ] && [ "$1 $2" = "--exists libarchive" ]\n'):
            (self.folder / 'bin' / name).write_text(text)
            (self.folder / 'bin' / name).chmod(0o755)

    def compiled(self, *words, of_all=True, **more):
        """The objects that make says it compiles, without build/: it counts them from 1 to their number."""
        said = re.findall(r'^  \[(\d+)(/\d+)?\] \w+ build/(.*)$', self.make(*words, **more), re.M)
        total = f'/{len(said)}' if of_all else ''
        self.assertEqual([(int(n), of) for n, of, _ in said], [(n, total) for n in range(1, len(said) + 1)])
        return sorted(name for _, _, name in said)

    def test_every_object_is_counted_once(self):
        for jobs in '-j1', '-j4':
            self.assertEqual(len(self.compiled(jobs, 'clean', 'omp')), self.C, jobs)
            self.assertTrue((self.folder / 'build/omp/spmv').exists())
            self.assertEqual(self.compiled(jobs, 'omp'), [])

    def test_only_what_is_made_again_is_counted(self):
        self.compiled('omp')
        header = self.folder / 'src/core/core.h'
        header.write_text('#define CORE 2\n')
        self.assertEqual(self.compiled('omp'), ['omp/omp/csr/csr_rows.f32_o32.o', 'omp/omp/csr/csr_rows.f32_o64.o',
                                                'omp/omp/csr/csr_rows.f64_o32.o', 'omp/omp/csr/csr_rows.f64_o64.o',
                                                'omp/src/api.o', 'omp/src/core/core.o'])
        for name in 'src/api.c', 'src/core/core.c', 'omp/csr/csr_rows.c':
            (self.folder / name).write_text('#define CORE 3\n' + self.SOURCES[name].split('\n', 1)[1])
        header.unlink()
        self.assertEqual(len(self.compiled('omp')), 6)
        (self.folder / 'build/omp/src/core/core.o').unlink()
        self.assertEqual(self.compiled('omp'), ['omp/src/core/core.o'])

    def test_flags_and_libraries_make_again_what_they_concern(self):
        self.compiled('omp')
        (self.folder / 'installed').touch()
        self.assertEqual(self.compiled('omp'), ['omp/src/io/archive.o'])
        self.assertEqual(len(self.compiled('omp', 'OPT=-O1')), self.C)
        self.assertEqual(self.compiled('omp', 'LIBS_WANTED='), ['omp/src/io/archive.o'])
        self.assertEqual(self.compiled('omp'), [])

    def test_what_failed_is_counted_again(self):
        (self.folder / 'src/core/core.c').write_text('mistake\n')
        self.make('-k', 'omp')
        (self.folder / 'src/core/core.c').write_text('int core;\n')
        self.assertEqual(self.compiled('omp'), ['omp/src/core/core.o'])

    def test_all_is_counted_when_all_is_to_be_made(self):
        self.compiled('omp')
        for flag in '-n', '-B':
            self.assertEqual(len(self.compiled(flag, 'omp')), self.C, flag)

    def test_cuda_shares_what_omp_has_compiled(self):
        self.compiled('omp')
        cuda = self.compiled('cuda')
        self.assertEqual(cuda, ['cuda/cuda/backend.o', *(f'cuda/cuda/csr/csr_warp.{v}.o' for v in ('f32_o32', 'f32_o64', 'f64_o32', 'f64_o64')),
                                'cuda/cuda/scan.o', 'cuda/src/app/main.o', 'cuda/src/app/record/record.o'])
        for goal in 'omp', 'cuda':
            self.assertEqual(self.compiled(goal), [])
        self.make('clean')
        self.assertEqual(len(self.compiled('-j4', 'omp', 'cuda')), self.C + len(cuda))

    def test_flags_of_one_file_are_not_those_of_all(self):
        self.make('build/cuda/cuda/scan.o')
        self.assertNotIn('flags changed', self.make('cuda'))

    def test_of_single_files_only_the_number_is_known(self):
        self.assertEqual(self.compiled('build/omp/src/api.o', 'build/omp/src/core/core.o', of_all=False),
                         ['omp/src/api.o', 'omp/src/core/core.o'])

    def test_what_deps_installs_is_compiled_in(self):
        self.compiled('omp')
        for jobs in '-j1', '-j4':
            (self.folder / 'installed').unlink(missing_ok=True)
            self.make('omp')
            self.assertEqual(self.compiled(jobs, 'deps', 'omp'), ['omp/src/io/archive.o'], jobs)


class Cuda(Copy):
    def setUp(self):
        super().setUp()
        for kernel, macro in ('csr/offsets', 'SPMV_EXPORT_KERNEL'), ('ell/none', 'SPMV_EXPORT_ANY_OFFSETS_KERNEL'), ('peers/other', ''):
            file = self.folder / 'cuda' / (kernel + '.cu')
            file.parent.mkdir(parents=True)
            file.write_text(f'{macro}({file.stem}) = {{}};\n')

    def test_a_kernel_without_offsets_is_compiled_once_per_precision(self):
        objects = next(line for line in self.make('-pn', 'cuda').splitlines() if line.startswith('lib_cuda :='))
        of = {name: {path.split('.')[1] for path in objects.split() if f'/{name}.' in path} for name in ('offsets', 'none', 'other')}
        self.assertEqual(of, {'offsets': {'f64_o32', 'f64_o64', 'f32_o32', 'f32_o64'}, 'none': {'f64_o32', 'f32_o32'},
                              'other': {'f64_o32', 'f32_o32'}})

    def test_so_are_formats_and_the_hosts_kernels(self):
        for path, macro in (('src/formats/papers/ell/format_ell.c', 'SPMV_EXPORT_ANY_OFFSETS_FORMAT'), ('src/formats/csr/format_csr.c', 'SPMV_EXPORT_FORMAT'),
                            ('omp/papers/ell_rows.c', 'SPMV_EXPORT_ANY_OFFSETS_KERNEL'), ('cuda/csell/build_csell.cu', 'EXPORT_NARROW_BUILDER')):
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
