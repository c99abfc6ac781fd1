// Calls to the engines during a release, over the supervisor's private port: start a deployment, migrate, snapshot and
// restore databases, remove the data of a branch or project. Every call may be repeated.
import { openArtifact } from '#artifacts/artifact-source.ts';
import { Failure } from '#core/failure.ts';
import type { Plan } from '#core/plans.ts';
import type { ResourceAnswer, ResourceCall, ResourceOperation, ResourceOperations } from '#core/resource-call.ts';
import type { Dependencies } from '../process/dependencies.ts';

type EngineDeps = Pick<Dependencies, 'privatePort' | 'folder'>;

/** Result of starting a worker. */
interface Started {
  readonly isStarted: boolean;
  readonly error: string | null;
  /** Output of the worker's top-level code. */
  readonly lines: readonly { readonly level: string; readonly text: string }[];
}

/** Result of the migrations of one database. */
export interface MigratedDatabase {
  readonly resource: string;
  readonly copied: boolean;
  readonly applied: readonly string[];
  readonly present: readonly string[];
  readonly pending: readonly string[];
  readonly error: {
    readonly code: string;
    readonly message: string;
    readonly file?: string;
    readonly line?: number;
  } | null;
}

const WARM_MS_MAX = 90_000;
const LONG_MS_MAX = 15 * 60_000;
const PROJECT_MS_MAX = 30 * 60_000;

/** Starts a deployment in the route record on all engines, before any URL points to it. */
export async function warm(deps: EngineDeps, project: string, deployment: string): Promise<Started> {
  const answer = await ask<{ warmed: boolean; error: string | null; lines?: Started['lines'] }>(
    deps,
    'warm',
    { project, deployment },
    WARM_MS_MAX,
  );
  return { isStarted: answer.warmed, error: answer.error, lines: answer.lines ?? [] };
}

/** Checks whether the worker of an artifact starts with these variables. */
export async function check(
  deps: EngineDeps,
  asked: { project: string; artifact: string; plan: Plan; vars: Readonly<Record<string, string>> },
): Promise<Started> {
  const answer = await ask<{ outcome: string; error: string | null; lines?: Started['lines'] }>(
    deps,
    'check',
    asked,
    WARM_MS_MAX,
  );
  return { isStarted: answer.outcome === 'ok', error: answer.error, lines: answer.lines ?? [] };
}

/**
 * Applies the migrations of an artifact to the databases of production or of a branch.
 *
 * @param branch null: production. @param dryRun whether only the pending migrations are returned.
 */
export async function migrate(
  deps: EngineDeps,
  project: string,
  artifact: string,
  branch: string | null,
  dryRun: boolean,
): Promise<readonly MigratedDatabase[]> {
  if (!hasDatabases(deps, artifact)) return [];
  const { databases } = await ask<{ databases: readonly MigratedDatabase[] }>(
    deps,
    'migrate',
    { project, artifact, branch, dryRun },
    LONG_MS_MAX,
  );
  return databases;
}

/** Takes a snapshot of production's databases. */
export async function snapshot(
  deps: EngineDeps,
  project: string,
  name: string,
  resources: readonly string[],
): Promise<void> {
  await ask(deps, 'snapshot', { project, name, resources }, LONG_MS_MAX);
}

/** Names of the existing snapshots. */
export async function snapshots(deps: EngineDeps, project: string): Promise<ReadonlySet<string>> {
  const answer = await ask<{ snapshots: readonly { name: string }[] }>(deps, 'snapshots', { project }, WARM_MS_MAX);
  return new Set(answer.snapshots.map(({ name }) => name));
}

/** Restores production's databases from a snapshot. @returns the databases. */
export async function restore(deps: EngineDeps, project: string, name: string): Promise<readonly string[]> {
  const { restored } = await ask<{ restored: readonly (string | { resource: string })[] }>(
    deps,
    'restore',
    { project, name },
    LONG_MS_MAX,
  );
  return restored.map((one) => (typeof one === 'string' ? one : one.resource));
}

/** Deletes the data of a branch once no route points to it. @returns the number of deleted items by kind. */
export async function removeBranchData(
  deps: EngineDeps,
  project: string,
  branch: string,
  resources: Readonly<Record<string, Readonly<Record<string, string>>>>,
): Promise<Readonly<Record<string, number>>> {
  const { removed } = await ask<{ removed: Readonly<Record<string, number>> }>(
    deps,
    'remove-branch',
    { project, branch, bindings: [resources] },
    LONG_MS_MAX,
  );
  return removed;
}

/**
 * Deletes the data of a deleted project once no route points to it.
 *
 * @param known the project's branches, and the databases that they declared. @returns the number of deleted items by
 * kind.
 */
export async function removeProjectData(
  deps: EngineDeps,
  project: string,
  known: { readonly branches: readonly string[]; readonly databases: readonly string[] },
): Promise<Readonly<Record<string, number>>> {
  const { removed } = await ask<{ removed: Readonly<Record<string, number>> }>(
    deps,
    'remove-project',
    { project, ...known },
    PROJECT_MS_MAX,
  );
  return removed;
}

/** The deployment that is production. */
interface InProduction {
  readonly project: string;
  readonly deployment: string;
}

/**
 * Finds an object of a class in production. @param firstName the original name of the class, which stays the same after
 * a rename.
 * @returns the object's name or id, or null.
 */
export async function heldObject(deps: EngineDeps, of: InProduction, firstName: string): Promise<string | null> {
  for (let cursor: string | null = null; ;) {
    const args = { class: firstName, ...(cursor !== null && { cursor }) };
    const found: Gives<'object.held'> = await askData(deps, of, 'object.held', args);
    if (found.object !== null) return found.object;
    if (found.cursor === null) return null;
    ({ cursor } = found);
  }
}

/**
 * Deletes all objects of a class that production no longer has. @returns the number of objects that had stored data.
 */
export async function clearObjects(deps: EngineDeps, of: InProduction, firstName: string): Promise<number> {
  let removed = 0;
  for (let cursor: string | null = null; ;) {
    const args = { class: firstName, ...(cursor !== null && { cursor }) };
    const page: Gives<'object.clear'> = await askData(deps, of, 'object.clear', args);
    removed += page.removed;
    if (page.cursor === null) return removed;
    ({ cursor } = page);
  }
}

type Gives<Operation extends ResourceOperation> = ResourceOperations[Operation]['gives'];

async function askData<Operation extends ResourceOperation>(
  deps: EngineDeps,
  of: InProduction,
  operation: Operation,
  args: ResourceOperations[Operation]['takes'],
): Promise<Gives<Operation>> {
  const call: ResourceCall<Operation> = { ...of, operation, args };
  return (await ask<ResourceAnswer<Operation>>(deps, 'data', call, WARM_MS_MAX)).result;
}

/** Whether an artifact declares databases or contains migrations. */
export function hasDatabases({ folder }: Pick<EngineDeps, 'folder'>, artifact: string): boolean {
  const { bindings, migrations } = openArtifact(folder, artifact).manifest;
  return migrations !== undefined || Object.keys(bindings['db'] ?? {}).length > 0;
}

/** @throws {Failure} `engines_away` or `engine_refused` */
async function ask<Body>({ privatePort }: EngineDeps, operation: string, asked: object, waitMs: number): Promise<Body> {
  let answer: { readonly status: number; readonly body: unknown };
  try {
    answer = await privatePort.ask<unknown>(`/_platform/${operation}`, asked, waitMs);
  } catch (error) {
    throw new Failure('engines_away', `The platform is not responding: ${(error as Error).message}`, { cause: error });
  }
  const { status, body } = answer;
  if (status === 200) return body as Body;
  const { error, code } = (body ?? {}) as { error?: unknown; code?: unknown };
  const message = typeof error === 'string' ? error : `The platform answered with status ${status}`;
  if (status >= 500 && code !== 'internal') throw new Failure('engines_away', message);
  throw new Failure('engine_refused', message, { code: typeof code === 'string' ? code : 'internal' });
}
