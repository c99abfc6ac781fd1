// Gives back what deletions leave in the platform's repositories: commits that no branch and no tag leads to any more,
// and the repositories of deleted projects. Called by retention.ts, once an hour.
import { execFile } from 'node:child_process';
import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { repositoriesFolder, repositoryFolder } from '#git/builtin-repositories.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { gitEnvironment } from './repositories.ts';

const run = promisify(execFile);
/** In a repository: when branches and tags of it were deleted, a line each, since it was last made smaller. */
const NOTE = 'platform-deletions';
/** What is younger may be of a push that is under way. */
const AGE_MS = 3_600_000;
const PRUNE = '1.hour.ago';
const GC_MS = 3_600_000;
/** Below that of processes that answer requests. */
const NICE = '10';

/** Notes that a branch or a tag is gone. */
export async function noteDeletion(dataFolder: string, repositoryId: string): Promise<void> {
  await appendFile(path.join(repositoryFolder(dataFolder, repositoryId), NOTE), `${Date.now()}\n`);
}

/** @returns how many repositories are smaller or gone. */
export async function shrinkRepositories(parts: Dependencies, now: number = Date.now()): Promise<number> {
  let count = await removeDeleted(parts);
  const names = await readdir(repositoriesFolder(parts.folder)).catch(() => []);
  for (const name of names) {
    if (parts.stopping.aborted) break;
    const repository = path.join(repositoriesFolder(parts.folder), name);
    const note = path.join(repository, NOTE);
    const times = (await readFile(note, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
    if (times.length === 0 || now - Number(times[0]) < AGE_MS) continue;
    const words = ['-n', NICE, 'git', '--git-dir', repository, 'gc', '--quiet', `--prune=${PRUNE}`];
    try {
      await run('nice', words, { env: gitEnvironment(), timeout: GC_MS });
    } catch (error) {
      parts.log.warn({ err: error, repository: name }, 'A repository keeps what was deleted');
      continue;
    }
    // What later deletions left was too young.
    const last = times.at(-1)!;
    if (now - Number(last) < AGE_MS) await writeFile(note, `${last}\n`);
    else await rm(note, { force: true });
    count++;
  }
  return count;
}

async function removeDeleted({ sql, folder }: Dependencies): Promise<number> {
  const rows = await sql<{ id: string }[]>`
    SELECT r.id FROM control.repository r WHERE r.source = 'builtin'
      AND NOT EXISTS (SELECT FROM control.project p WHERE p.repository_id = r.id AND p.deleted_at IS NULL)
      AND (EXISTS (SELECT FROM control.project p WHERE p.repository_id = r.id)
        -- Disconnected before.
        OR NOT EXISTS (SELECT FROM control.project p
          WHERE p.organization_id = r.organization_id AND p.name = r.full_name AND p.deleted_at IS NULL))`;
  for (const { id } of rows) {
    await rm(repositoryFolder(folder, id), { recursive: true, force: true });
    await sql`DELETE FROM control.repository WHERE id = ${id}`;
  }
  return rows.length;
}
