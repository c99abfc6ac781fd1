// The program that creates namespaces without bubblewrap (fence.c), prebuilt for the supported machines.
import { access, constants } from 'node:fs/promises';
import path from 'node:path';

/** Path relative to this folder. */
export const fenceProgram = (architecture: string): string => `prebuilt/fence-linux-${architecture}`;

/** Path of the program; null if it is not available for this machine, or in this image. */
export async function ownFence(): Promise<string | null> {
  if (process.platform !== 'linux') return null;
  const file = path.join(import.meta.dirname, fenceProgram(process.arch));
  return access(file, constants.X_OK).then(
    () => file,
    () => null,
  );
}
