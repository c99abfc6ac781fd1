// Files and folders of a sandbox. Files are written to a temporary file and renamed, so readers see the old or the new
// content, and an interrupted upload changes nothing.
import { randomUUID } from 'node:crypto';
import { constants, createWriteStream } from 'node:fs';
import { chmod, lstat, mkdir, open, opendir, rename, rm, stat, unlink } from 'node:fs/promises';
import type { IncomingMessage, ServerResponse } from 'node:http';
import path from 'node:path';
import { pipeline } from 'node:stream/promises';
import { PlatformError } from '#core/errors.ts';
import { toFlag, toPath, toWhole, type Fields } from '#core/sandbox/arguments.ts';
import { SANDBOX_LIMITS } from '#core/sandbox/call-limits.ts';
import { fileError } from './file-errors.ts';
import type { Paths, SandboxPath } from './paths.ts';

const { filesMax } = SANDBOX_LIMITS;

/** Defined in packages/types/sandbox.d.ts. */
interface FileRecord {
  readonly name: string;
  readonly path: string;
  readonly type: 'file' | 'directory' | 'symlink' | 'other';
  readonly size?: number;
}

interface Files {
  read(fields: Fields, response: ServerResponse): Promise<void>;
  write(fields: Fields, body: IncomingMessage): Promise<void>;
  delete(fields: Fields): Promise<void>;
  move(fields: Fields): Promise<void>;
  mkdir(fields: Fields): Promise<void>;
  list(fields: Fields): Promise<readonly FileRecord[]>;
  exists(fields: Fields): Promise<boolean>;
}

export function createFiles(paths: Paths): Files {
  /** Runs a file operation and maps its errors for the caller. */
  async function at<Result>(
    written: unknown,
    action: string,
    act: (place: SandboxPath) => Promise<Result>,
  ): Promise<Result> {
    const place = await paths.resolve(toPath(written));
    try {
      return await act(place);
    } catch (error) {
      throw fileError(error, place.shown, action);
    }
  }

  async function listInto(
    found: FileRecord[],
    folder: SandboxPath,
    wants: { deep: boolean; hidden: boolean },
  ): Promise<void> {
    for await (const entry of await opendir(folder.real)) {
      const { name } = entry;
      if (!wants.hidden && name.startsWith('.')) continue;
      if (found.length >= filesMax)
        throw new PlatformError('sandbox_limit', { what: 'Another entry of the file list', limit: filesMax });
      const below = { real: path.join(folder.real, name), shown: path.posix.join(folder.shown, name) };
      const type = entry.isDirectory()
        ? 'directory'
        : entry.isFile()
          ? 'file'
          : entry.isSymbolicLink()
            ? 'symlink'
            : 'other';
      const size =
        type === 'file'
          ? await lstat(below.real).then(
              (found) => found.size,
              () => null,
            )
          : null;
      found.push({ name, path: below.shown, type, ...(size === null ? {} : { size }) });
      if (wants.deep && type === 'directory') await listInto(found, below, wants);
    }
  }

  return {
    read: (fields, response) =>
      at(fields['path'], 'read', async ({ real, shown }) => {
        // Opening a pipe without a writer would block forever.
        const file = await open(real, constants.O_RDONLY | constants.O_NONBLOCK);
        try {
          const found = await file.stat();
          if (found.isDirectory()) throw new PlatformError('file_type', { path: shown, what: 'a folder' });
          if (!found.isFile()) throw new PlatformError('file_type', { path: shown, what: 'not a regular file' });
          const content = file.createReadStream({ highWaterMark: 256 * 1024, autoClose: false });
          response.setHeader('content-type', 'application/octet-stream');
          // The caller disconnected.
          await pipeline(content, response).catch((error: unknown) => {
            if (!response.destroyed) throw error;
          });
        } finally {
          await file.close();
        }
      }),
    write: (fields, body) =>
      at(fields['path'], 'written', async ({ real, shown }) => {
        const mode = toWhole(fields['mode'], 'mode', { least: 0, most: 0o777, otherwise: -1 });
        const before = await stat(real).catch(() => null);
        if (before?.isDirectory() === true) throw new PlatformError('file_type', { path: shown, what: 'a folder' });
        await mkdir(path.dirname(real), { recursive: true });
        const beside = path.join(path.dirname(real), `.${randomUUID()}.part`);
        try {
          // If writing fails, the body is still read to its end, so that the response can be sent.
          await pipeline(body.iterator({ destroyOnReturn: false }), createWriteStream(beside, { flags: 'wx' }));
          if (mode >= 0) await chmod(beside, mode);
          else if (before !== null) await chmod(beside, before.mode & 0o777);
          await rename(beside, real);
        } catch (error) {
          await rm(beside, { force: true });
          throw error;
        }
      }),
    delete: (fields) =>
      at(fields['path'], 'deleted', async ({ real, shown }) => {
        if (real === paths.workspace.real)
          throw new PlatformError('file_forbidden', {
            path: shown,
            action: 'deleted',
            reason: 'it is the workspace itself',
          });
        if (toFlag(fields['recursive'], 'recursive')) return rm(real, { recursive: true });
        if ((await lstat(real)).isDirectory())
          throw new PlatformError('file_type', { path: shown, what: 'a folder: pass {recursive: true}' });
        return unlink(real);
      }),
    move: (fields) =>
      at(fields['from'], 'moved', (from) =>
        at(fields['to'], 'written', async (to) => {
          await lstat(from.real).catch((error: unknown) => {
            throw fileError(error, from.shown, 'moved');
          });
          await mkdir(path.dirname(to.real), { recursive: true });
          await rename(from.real, to.real);
        }),
      ),
    mkdir: (fields) =>
      at(fields['path'], 'made', async ({ real }) => {
        await mkdir(real, { recursive: toFlag(fields['recursive'], 'recursive') });
      }),
    list: (fields) =>
      at(fields['path'], 'listed', async (folder) => {
        const found: FileRecord[] = [];
        await listInto(found, folder, {
          deep: toFlag(fields['recursive'], 'recursive'),
          hidden: toFlag(fields['includeHidden'], 'includeHidden'),
        });
        return found.sort((one, other) => (one.path < other.path ? -1 : 1));
      }),
    exists: (fields) =>
      at(fields['path'], 'read', ({ real }) =>
        stat(real).then(
          () => true,
          (error: NodeJS.ErrnoException) => {
            if (error.code === 'ENOENT' || error.code === 'ENOTDIR') return false;
            throw error;
          },
        ),
      ),
  };
}
