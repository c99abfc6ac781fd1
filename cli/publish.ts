// Hands an artifact to the handler of this machine: puts it into `artifacts/` of the data folder and rewrites the project's
// route record. Called by `deploy` and `start`. Two deploys at once lose nothing: a lock covers read, change and write.
import { randomInt } from 'node:crypto';
import {
  closeSync,
  cpSync,
  existsSync,
  fsyncSync,
  mkdirSync,
  mkdtempSync,
  openSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  writeSync,
} from 'node:fs';
import path from 'node:path';
import type { DeploymentRecord, RouteRecord } from '#core/manifest.ts';
import { isArtifactId, isProjectName } from '#core/names.ts';
import { CliError } from './failure.ts';
import { takeLock } from './lock.ts';

/** What is to be published, and as what. */
export interface Publication {
  /** Data folder of the handler (`FS_PATH`). */ readonly dataFolder: string;
  readonly project: string;
  readonly branch: string;
  /** Whether `<project>.<domain>` serves it from now on; the first deployment of a project always does. */ readonly production: boolean;
  /** Folder with `manifest.json`, bundle and assets. */ readonly artifactFolder: string;
  readonly artifactId: string;
  /** Replaces the project's variables; without it they stay. */ readonly vars?: Readonly<Record<string, string>>;
  /** Makes no new deployment when the newest one of the branch has the same artifact. */ readonly onlyWhenChanged?: boolean;
}

/** What came of it. */
export interface Published {
  readonly deployment: DeploymentRecord;
  readonly route: RouteRecord;
  /** False when the branch had this artifact already. */ readonly changed: boolean;
}

const lockWaitMs = 10_000;

/**
 * Publishes an artifact; the handler sees either the old state or the new one.
 *
 * @throws {CliError} when the name is not a project name or the data folder cannot be written.
 */
export function publish(publication: Publication): Published {
  const { dataFolder, project, artifactId } = publication;
  if (!isProjectName(project)) {
    throw new CliError(`"${project}" cannot be the name of a project`, {
      advice: 'Use lower-case letters, digits and single hyphens, at most 40 characters: --name my-app',
    });
  }
  if (!isArtifactId(artifactId)) throw new CliError(`"${artifactId}" is not an artifact id`);
  try {
    storeArtifact(dataFolder, artifactId, publication.artifactFolder);
    return updateRoute(publication);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code === 'ENOSPC')
      throw new CliError(`No space left in ${dataFolder}: nothing was published`, { advice: 'Free some space and deploy again.' });
    if (code === 'EACCES' || code === 'EROFS') {
      throw new CliError(`${dataFolder} cannot be written: nothing was published`, {
        advice: 'Set FS_PATH to the data folder of your handler.',
      });
    }
    throw error;
  }
}

/** Every route record in a data folder, by project. */
export function readRoutes(dataFolder: string): RouteRecord[] {
  const folder = path.join(dataFolder, 'routes');
  if (!existsSync(folder)) return [];
  const names = readdirSync(folder).filter((name) => name.endsWith('.json') && isProjectName(name.slice(0, -'.json'.length)));
  return names.sort().map((name) => readRoute(path.join(folder, name))!);
}

/** Copies beside and renames, so that a folder under `artifacts/` is always whole. */
function storeArtifact(dataFolder: string, id: string, source: string): void {
  const target = path.join(dataFolder, 'artifacts', id);
  if (path.resolve(source) === target || existsSync(target)) return;
  makeFolder(path.dirname(target));
  const incoming = temporaryFolder(dataFolder);
  try {
    cpSync(source, path.join(incoming, id), { recursive: true });
    renameSync(path.join(incoming, id), target);
  } catch (error) {
    // Another deploy of the same artifact was quicker: content-addressed, so the same files.
    if (!existsSync(target)) throw error;
  } finally {
    rmSync(incoming, { recursive: true, force: true });
  }
}

function updateRoute(publication: Publication): Published {
  const { dataFolder, project, branch, artifactId: artifact } = publication;
  const lock = takeLock(path.join(dataFolder, 'locks', 'routes'), lockWaitMs);
  if (lock === null)
    throw new CliError(`Another deploy holds ${dataFolder} for more than ${lockWaitMs / 1000} s`, { advice: 'Try again.' });
  try {
    const file = path.join(dataFolder, 'routes', `${project}.json`);
    const before = readRoute(file) ?? emptyRoute(project);
    const newest = before.deployments[before.branches[branch] ?? ''];
    if (publication.onlyWhenChanged === true && newest?.artifact === artifact) return { deployment: newest, route: before, changed: false };
    const production = publication.production || before.production === null;
    const deployment: DeploymentRecord = {
      id: newDeploymentId(before),
      artifact,
      branch,
      createdAt: new Date().toISOString(),
      target: production ? 'production' : 'preview',
    };
    const route: RouteRecord = {
      ...before,
      vars: publication.vars ?? before.vars,
      production: production ? deployment.id : before.production,
      branches: { ...before.branches, [branch]: deployment.id },
      deployments: { ...before.deployments, [deployment.id]: deployment },
    };
    replaceFile(dataFolder, file, `${JSON.stringify(route, null, 2)}\n`);
    return { deployment, route, changed: true };
  } finally {
    lock.release();
  }
}

function emptyRoute(project: string): RouteRecord {
  return { version: 1, project, plan: 'free', vars: {}, domains: [], production: null, branches: {}, deployments: {} };
}

function readRoute(file: string): RouteRecord | null {
  let text: string;
  try {
    text = readFileSync(file, 'utf8');
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null;
    throw error;
  }
  try {
    return JSON.parse(text) as RouteRecord;
  } catch {
    throw new CliError('This route record is not JSON', { file, advice: 'Restore it or delete it, then deploy again.' });
  }
}

function newDeploymentId(route: RouteRecord): string {
  for (;;) {
    const id = `d${Array.from({ length: 12 }, () => randomInt(36).toString(36)).join('')}`;
    if (!Object.hasOwn(route.deployments, id)) return id;
  }
}

/** Written and synced beside, then renamed over the old one: a reader never sees half a file, also after a power cut. */
function replaceFile(dataFolder: string, file: string, text: string): void {
  makeFolder(path.dirname(file));
  const incoming = temporaryFolder(dataFolder);
  try {
    const beside = path.join(incoming, path.basename(file));
    const descriptor = openSync(beside, 'w', 0o600);
    try {
      writeSync(descriptor, text);
      fsyncSync(descriptor);
    } finally {
      closeSync(descriptor);
    }
    renameSync(beside, file);
  } finally {
    rmSync(incoming, { recursive: true, force: true });
  }
}

/** A folder of the data folder, for its owner alone: records hold variables, artifacts code. */
function makeFolder(folder: string): void {
  mkdirSync(path.dirname(folder), { recursive: true, mode: 0o755 });
  mkdirSync(folder, { recursive: true, mode: 0o700 });
}

function temporaryFolder(dataFolder: string): string {
  const parent = path.join(dataFolder, 'incoming');
  makeFolder(parent);
  return mkdtempSync(path.join(parent, 'publish-'));
}
