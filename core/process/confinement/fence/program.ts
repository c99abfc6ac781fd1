// The program that makes namespaces where bubblewrap is not (fence.c), as it was built for the machines we run on.
import { access, constants } from 'node:fs/promises';
import path from 'node:path';

export const FENCE_ARCHITECTURES = ['x64', 'arm64'] as const;

/** Path of one from this folder. */
export const fenceProgram = (architecture: string): string => `prebuilt/fence-linux-${architecture}`;

/** Null: there is none for this machine, or not in this image. */
export async function ownFence(): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  const file = path.join(import.meta.dirname, fenceProgram(process.arch));
  return access(file, constants.X_OK).then(
    () => file,
    () => null,
  );
}
