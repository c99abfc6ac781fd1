// `git push platform main`: smart HTTP for the platform's own repositories, `/git/<project>.git`. Git sends a token as
// password. The post-receive hook receives the build log, which Git shows in the terminal.
import { isProjectName } from '#core/names.ts';
import type { Sql, Transaction } from '#postgres/sql.ts';
import { Access } from '../access/access.ts';
import { actorOfToken, type Actor } from '../access/actor.ts';
import { ApiError } from '../http/errors.ts';
import { countActor, tooMany } from '../access/rate-limit.ts';
import { createProject } from '../releases/create-project.ts';
import type { Dependencies } from '../process/dependencies.ts';
import { writeAudit } from '../records/audit.ts';
import { refuseFull, refuseOnFullDisk } from '../storage/refuse.ts';
import { readDeletion } from './deletion.ts';
import { gitHttpBackend, refusedPush } from './http-backend.ts';
import { projectRepository } from './project-repository.ts';
import { openPushes } from './pushes.ts';
import { ensureRepository } from '../repositories/repositories.ts';

/** The value of `retry-after` when all slots are taken. */
const AGAIN_SECONDS = 5;
const PATTERN = /^\/git\/([^/]{1,64}?)(?:\.git)?(\/info\/refs|\/git-upload-pack|\/git-receive-pack)$/;

/** The Git remote of the platform. */
export interface GitPush {
  /** Null if the request is not a Git request. */
  fetch(request: Request): Promise<Response> | null;
  close(): Promise<void>;
}

/** Opens the remote and listens for hooks. */
export async function openGitPush(deps: Dependencies): Promise<GitPush> {
  const pushes = await openPushes(deps);
  const slots = createSlots(deps.limits.gitCallsMax);
  return {
    fetch(request) {
      const found = PATTERN.exec(new URL(request.url).pathname);
      return found === null ? null : answer(deps, slots, request, found[1]!, found[2]!);
    },
    close: () => pushes.close(),
  };
}

/** Takes a slot of an account. @returns a function that releases the slot once. @throws {ApiError} */
type Slots = (account: string) => () => void;

function createSlots(most: number): Slots {
  const running = new Map<string, number>();
  let all = 0;
  return (account) => {
    const own = running.get(account) ?? 0;
    if (all >= most || own >= Math.ceil(most / 4))
      throw new ApiError('rate_limited', { seconds: AGAIN_SECONDS }, { 'retry-after': String(AGAIN_SECONDS) });
    all++;
    running.set(account, own + 1);
    let isTaken = true;
    return () => {
      if (!isTaken) return;
      isTaken = false;
      all--;
      const left = running.get(account)! - 1;
      if (left > 0) running.set(account, left);
      else running.delete(account);
    };
  };
}

async function answer(
  deps: Dependencies,
  slots: Slots,
  request: Request,
  name: string,
  path: string,
): Promise<Response> {
  let leave = (): void => {};
  try {
    const service = new URL(request.url).searchParams.get('service');
    const writes = path === '/git-receive-pack' || service === 'git-receive-pack';
    const actor = await actorOfGit(deps, request);
    const rate = await countActor(deps, actor, deps.clientAddress(request));
    if (rate?.isOver === true) throw tooMany(rate);
    if (actor === null) return askForToken();
    leave = slots(actor.accountId);
    const { repositoryId, organizationId } = await repositoryOf(deps, actor, name, writes);
    const call = {
      dataFolder: deps.folder,
      repositoryId,
      path,
      account: actor.accountId,
      limits: deps.limits,
      onEnd: leave,
    };
    const refusal = path === '/git-receive-pack' ? await refusalOf(deps, deps.sql, organizationId) : null;
    if (refusal === null) return await gitHttpBackend(request, call);
    const deletion = await readDeletion(request);
    if (deletion !== null) return await gitHttpBackend(request, call, deletion);
    leave();
    return refusedPush(refusal.message);
  } catch (error) {
    leave();
    // Git shows error messages only from text responses.
    if (error instanceof ApiError) return plain(error.status, error.message, error.headers);
    deps.log.error({ err: error }, 'Git request failed');
    return plain(500, new ApiError('internal').message);
  }
}

function plain(status: number, text: string, headers: Readonly<Record<string, string>> = {}): Response {
  return new Response(`${text}\n`, { status, headers: { ...headers, 'content-type': 'text/plain; charset=utf-8' } });
}

function askForToken(): Response {
  const response = plain(401, 'Use a token of the platform as the password, with any user name');
  response.headers.set('www-authenticate', 'Basic realm="platform", charset="UTF-8"');
  return response;
}

/** Git sends credentials as Basic auth; the token is the password, or the name if there is no password. */
async function actorOfGit({ sql }: Dependencies, request: Request): Promise<Actor | null> {
  const [, scheme, given] = /^(Basic|Bearer) +(\S{1,1024})$/i.exec(request.headers.get('authorization') ?? '') ?? [];
  if (given === undefined) return null;
  if (scheme!.toLowerCase() === 'bearer') return actorOfToken(sql, given);
  const [user = '', password = ''] = Buffer.from(given, 'base64').toString('utf8').split(':', 2);
  return actorOfToken(sql, password === '' ? user : password);
}

/** Why an organization may only push deletions: its storage or the disk is full. Null: no restriction. */
async function refusalOf(deps: Dependencies, sql: Sql | Transaction, organizationId: string): Promise<ApiError | null> {
  try {
    await refuseFull(deps, sql, organizationId);
    await refuseOnFullDisk(deps);
    return null;
  } catch (error) {
    if (error instanceof ApiError) return error;
    throw error;
  }
}

/** The project's own repository; the first push creates both. @throws {ApiError} */
async function repositoryOf(
  deps: Dependencies,
  actor: Actor,
  name: string,
  writes: boolean,
): Promise<{ repositoryId: string; organizationId: string }> {
  const { sql } = deps;
  if (!isProjectName(name))
    throw new ApiError('bad_request', { reason: `"${name.slice(0, 60)}" is not a valid project name` });
  const access = new Access(sql, actor);
  const permission = writes ? 'deployment:create' : 'project:read';
  const projectOf = async (): Promise<string | undefined> =>
    (await sql<{ id: string }[]>`SELECT id FROM control.project WHERE name = ${name} AND deleted_at IS NULL`)[0]?.id;
  const found = await projectOf();
  if (found === undefined && !writes) throw new ApiError('not_found');
  const projectId =
    found ??
    (await firstProject(deps, access, actor, name).catch(async (error: unknown) => {
      // A concurrent first push has created the repository.
      const made = await projectOf();
      if (made === undefined) throw error;
      return made;
    }));
  const { organizationId } = await access.project(permission, projectId);
  const repository = await sql.begin((tx) =>
    projectRepository(tx, projectId, async () => {
      // A new repository has no branches to delete: refuse the push before any data is sent.
      const refusal = writes ? await refusalOf(deps, tx, organizationId) : null;
      if (refusal !== null) throw refusal;
    }),
  );
  if (repository.source !== 'builtin')
    throw new ApiError('conflict', {
      reason: `${name} is connected to another repository: push there, or disconnect it first`,
    });
  await ensureRepository(deps.folder, repository.id, repository.defaultBranch);
  return { repositoryId: repository.id, organizationId };
}

/** Creates the project in the only organization where the actor may. @throws {ApiError} */
async function firstProject(deps: Dependencies, access: Access, actor: Actor, name: string): Promise<string> {
  const organizations = Object.keys(actor.memberships).filter((id) => {
    try {
      access.organization('project:create', id);
      return true;
    } catch {
      return false;
    }
  });
  if (organizations.length !== 1) throw new ApiError('not_found');
  const given = {
    organizationId: organizations[0]!,
    name,
    description: '',
    visibility: 'private',
    kind: null,
  } as const;
  return createProject(deps, given, (tx, event) => writeAudit(tx, { actor, address: null, requestId: null }, event));
}
