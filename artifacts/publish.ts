// Publishes an artifact to the platform of this machine: moves it into `artifacts/` of the data folder and adds it as
// a deployment to the project's route record. Called by `deploy` and `start`.
import { randomInt } from 'node:crypto';
import { cpSync, existsSync, renameSync, rmSync } from 'node:fs';
import path from 'node:path';
import { Failure } from '#core/failure.ts';
import type { DeploymentRecord, RouteRecord } from '#core/manifest.ts';
import { isArtifactId, isProjectName } from '#core/names.ts';
import { previewOf } from '#core/preview.ts';
import { changeRoute, temporaryFolder, writable } from './route-records.ts';

/** Parameters of a publication. */
export interface Publication {
  /** Data folder of the handler (`FS_PATH`). */
  readonly dataFolder: string;
  readonly project: string;
  readonly branch: string;
  /** Whether `<project>.<domain>` serves the deployment; otherwise the deployment is a preview. */
  readonly production: boolean;
  /** Folder with `manifest.json`, bundle and assets. */
  readonly artifactFolder: string;
  readonly artifactId: string;
  /** Replaces the variables of production, or of a preview's branch. Without this argument, the variables are kept. */
  readonly vars?: Readonly<Record<string, string>>;
  /** Creates no new deployment if the newest deployment of the branch has the same artifact. */
  readonly onlyWhenChanged?: boolean;
}

/** Result. */
interface Published {
  readonly deployment: DeploymentRecord;
  readonly route: RouteRecord;
  /** False if the branch already had this artifact. */
  readonly changed: boolean;
}

/** Former production deployments kept for `rollback`. */
const HISTORY_MAX = 100;

/**
 * Publishes an artifact; the handler sees either the old state or the new one.
 *
 * @throws {Failure} `publish` when the name is not a project name or the data folder cannot be written.
 */
export function publish(publication: Publication): Published {
  const { dataFolder, project, artifactId } = publication;
  checkProjectName(project);
  if (!isArtifactId(artifactId)) throw new Failure('publish', `"${artifactId}" is not an artifact id`);
  writable(dataFolder, () => storeArtifact(dataFolder, artifactId, publication.artifactFolder));
  let published: Omit<Published, 'route'> | null = null;
  const route = changeRoute(dataFolder, project, (before) => {
    const { branch } = publication;
    const newest = before.deployments[before.branches[branch] ?? ''];
    if (publication.onlyWhenChanged === true && newest?.artifact === artifactId) {
      published = { deployment: newest, changed: false };
      return before;
    }
    const deployment: DeploymentRecord = {
      id: newDeploymentId(before),
      artifact: artifactId,
      branch,
      createdAt: new Date().toISOString(),
      target: publication.production ? 'production' : 'preview',
    };
    published = { deployment, changed: true };
    const added = { ...before, deployments: { ...before.deployments, [deployment.id]: deployment } };
    const led = publication.production ? asProduction(added, deployment.id) : withBranch(added, branch, deployment.id);
    return publication.vars === undefined ? led : withVars(led, deployment, publication.vars);
  });
  return { ...published!, route };
}

/** @throws {Failure} `publish` */
export function checkProjectName(project: string): void {
  if (isProjectName(project)) return;
  throw new Failure('publish', `"${project}" is not a valid project name`, {
    advice: 'Use lower-case letters, digits and single hyphens, at most 40 characters: --name my-app',
  });
}

/**
 * Returns the record with one of its deployments as production; the URL of the deployment's branch also points to it.
 */
export function asProduction(record: RouteRecord, id: string): RouteRecord {
  const { branch } = record.deployments[id]!;
  const history = (record.productionHistory ?? []).filter((earlier) => earlier !== id && earlier !== record.production);
  if (record.production !== null && record.production !== id) history.push(record.production);
  return {
    ...superseded(withBranch(record, branch, id), record.production, id),
    production: id,
    ...(history.length > 0 && { productionHistory: history.slice(-HISTORY_MAX) }),
  };
}

/**
 * The record after a rollback. The replaced deployment can no longer be a rollback target, and skew protection no
 * longer serves it to pages that it delivered.
 */
export function rolledBack(record: RouteRecord, id: string): RouteRecord {
  const led = asProduction(record, id);
  const { [record.production ?? '']: left, ...others } = led.deployments;
  if (left === undefined) return led;
  const { supersededAt: _, ...kept } = left;
  return {
    ...led,
    productionHistory: (led.productionHistory ?? []).filter((earlier) => earlier !== left.id),
    deployments: { ...others, [left.id]: kept },
  };
}

function withBranch(record: RouteRecord, branch: string, id: string): RouteRecord {
  const before = Object.hasOwn(record.branches, branch) ? record.branches[branch]! : null;
  return { ...superseded(record, before, id), branches: { ...record.branches, [branch]: id } };
}

/** Records when a deployment was superseded. */
function superseded(record: RouteRecord, before: string | null, id: string): RouteRecord {
  const one = before === null || before === id ? undefined : record.deployments[before];
  if (one === undefined) return record;
  const supersededAt = new Date().toISOString();
  return { ...record, deployments: { ...record.deployments, [one.id]: { ...one, supersededAt } } };
}

function withVars(
  record: RouteRecord,
  { id, branch }: DeploymentRecord,
  vars: Readonly<Record<string, string>>,
): RouteRecord {
  if (previewOf(record, id) === null) return { ...record, vars };
  return { ...record, branchVars: { ...record.branchVars, [branch]: vars } };
}

/** Copies to another name and renames, so that a folder under `artifacts/` is always complete. */
function storeArtifact(dataFolder: string, id: string, source: string): void {
  const target = path.join(dataFolder, 'artifacts', id);
  if (path.resolve(source) === target || existsSync(target)) return;
  const incoming = temporaryFolder(dataFolder, 'artifacts');
  try {
    cpSync(source, path.join(incoming, id), { recursive: true });
    renameSync(path.join(incoming, id), target);
  } catch (error) {
    // Another deploy of the same artifact was faster. The artifact is content-addressed, so the files are the same.
    if (!existsSync(target)) throw error;
  } finally {
    rmSync(incoming, { recursive: true, force: true });
  }
}

function newDeploymentId(route: RouteRecord): string {
  for (;;) {
    const id = `d${Array.from({ length: 12 }, () => randomInt(36).toString(36)).join('')}`;
    if (!Object.hasOwn(route.deployments, id)) return id;
  }
}
