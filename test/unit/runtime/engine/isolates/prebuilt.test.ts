// The binaries of the native half that users load: built from the sources beside them, for every machine.
import assert from 'node:assert/strict';
import { createHash } from 'node:crypto';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { test } from 'node:test';
import { exportedSymbols, isSigned, processorOf, undefinedSymbols } from '#runtime/engine/isolates/native/mach-o.ts';

/** Symbols of libSystem and libc++ as macOS 13.5 has them, which is the oldest that Node 24 runs on. */
const OF_MACOS = new Set(
  (
    '__ZNKSt3__119__shared_weak_count13__get_deleterERKSt9type_info __ZNSt3__119__shared_weak_count14__release_weakEv ' +
    '__ZNSt3__119__shared_weak_countD2Ev __ZNSt3__122__libcpp_verbose_abortEPKcz __ZSt7nothrow __ZdaPv __ZdaPvm ' +
    '__ZdlPv __ZdlPvm __ZnamRKSt9nothrow_t __Znwm __ZnwmRKSt9nothrow_t __tlv_bootstrap _bzero _clock_gettime ' +
    '_getentropy _madvise _memcmp _memcpy _memmove _mmap _munmap _nanosleep _pthread_cond_signal _pthread_cond_wait _pthread_create ' +
    '_pthread_detach _pthread_equal _pthread_mach_thread_np _pthread_mutex_lock _pthread_mutex_unlock _pthread_self ' +
    '_raise _send _sigaction _strcmp _strncpy _sysconf _thread_info _uv_default_loop dyld_stub_binder'
  ).split(' '),
);
const folder = join(import.meta.dirname, '../../../../../runtime/engine/isolates/native');

test('the prebuilt binaries are built from the source beside them', () => {
  const hash = createHash('sha256');
  const files = readdirSync(folder, { recursive: true, encoding: 'utf8' }).filter((name) => /\.(?:cc|h)$/.test(name));
  for (const name of files.toSorted()) hash.update(readFileSync(join(folder, name)));
  assert.equal(
    readFileSync(join(folder, 'prebuilt/source.sha256'), 'utf8').trim(),
    hash.digest('hex'),
    'run `node runtime/engine/isolates/native/build.ts`',
  );
});

test("the binaries need no function of the compiler's own library, which is not linked", () => {
  for (const name of readdirSync(join(folder, 'prebuilt')).filter((file) => file.endsWith('.node')))
    assert.equal(
      readFileSync(join(folder, 'prebuilt', name), 'latin1').match(/__aarch64_[a-z]+\d\w*/)?.[0],
      undefined,
      name,
    );
});

test('the binaries for macOS are signed, for arm64, and need only what Node and the system have there', () => {
  for (const source of ['guest', 'snapshot']) {
    const binary = readFileSync(join(folder, `prebuilt/${source}-darwin-arm64-137.node`));
    assert.equal(processorOf(binary), 0x0100000c, source);
    assert.ok(isSigned(binary), source);
    const others = undefinedSymbols(binary).filter((name) => !/^__ZNK?(?:2v8|4node)/.test(name));
    assert.deepEqual(
      others.filter((name) => !OF_MACOS.has(name)),
      [],
      source,
    );
  }
  const guest = exportedSymbols(readFileSync(join(folder, 'prebuilt/guest-darwin-arm64-137.node')));
  assert.ok(guest.includes('_InitForContext'));
});
