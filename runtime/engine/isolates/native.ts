// Finds the native binaries for this machine: the native half of the guest (native/guest/guest.cc), and the binary that
// creates its snapshot (native/snapshot.cc).
import { existsSync } from 'node:fs';
import { join } from 'node:path';
import ivm from 'isolated-vm';

/**
 * The native half of the guest for this machine. @throws {Error} with instructions if there is no binary for this
 * machine.
 */
export function loadNative(): ivm.NativeModule {
  return new ivm.NativeModule(nativeFile('guest'));
}

/** The binary of a native source. @throws {Error} with instructions if there is no binary for this machine. */
export function nativeFile(source: 'guest' | 'snapshot'): string {
  const name = `${source}-${process.platform}-${process.arch}-${process.versions.modules}.node`;
  const file = join(import.meta.dirname, 'native/prebuilt', name);
  if (!existsSync(file)) {
    throw new Error(
      `There is no native guest for this machine (${name}). Linux on x64 and arm64 and macOS on arm64 are supported, ` +
        'each under Node 24; on Windows, use Linux in WSL. Elsewhere, start the platform in its container',
    );
  }
  return file;
}
