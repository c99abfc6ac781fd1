// Frees space in the platform's repositories: removes unreachable commits, and repositories of deleted projects. Called
// by retention.ts, once an hour.
import { execFile } from 'node:child_process';
import { appendFile, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import path from 'node:path';
import { promisify } from 'node:util';
import { repositoriesFolder, repositoryFolder } from '#git/builtin-repositories.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { limitedGit, gitEnvironment } from './repositories.ts';

const run = promisify(execFile);
/** A file in the repository with one line per deletion of a branch or tag since the last cleanup. */
const NOTE = 'platform-deletions';
/** Younger objects may belong to a running push. */
const AGE_MS = 3_600_000;
const PRUNE = '1.hour.ago';
const GC_MS = 3_600_000;
/** Lower priority than processes that serve requests. */
const NICE = '10';

/** Records the deletion of a branch or tag. */
export async function noteDeletion(dataFolder: string, repositoryId: string): Promise<void> {
  await appendFile(path.join(repositoryFolder(dataFolder, repositoryId), NOTE), `${Date.now()}\n`);
}

/** @returns the number of repositories shrunk or removed. */
export async function shrinkRepositories(deps: Dependencies, now: number = Date.now()): Promise<number> {
  let count = await removeDeleted(deps);
  const names = await readdir(repositoriesFolder(deps.folder)).catch(() => []);
  for (const name of names) {
    if (deps.stopping.aborted) break;
    const repository = path.join(repositoriesFolder(deps.folder), name);
    const note = path.join(repository, NOTE);
    const times = (await readFile(note, 'utf8').catch(() => '')).split('\n').filter((line) => line !== '');
    if (times.length === 0 || now - Number(times[0]) < AGE_MS) continue;
    const [program, words] = limitedGit(deps.limits, ['--git-dir', repository, 'gc', '--quiet', `--prune=${PRUNE}`]);
    try {
      await run('nice', ['-n', NICE, program, ...words], { env: gitEnvironment(), timeout: GC_MS });
    } catch (error) {
      deps.log.warn({ err: error, repository: name }, 'Deleted objects of a repository not removed');
      continue;
    }
    // The commits of later deletions were too young to be removed now.
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
