// The API of bindings (resources/) for the project of `platform dev`: serves the same routes as the control plane, in
// this process. Used by server.ts; the app and its schemas are loaded with the first request.
import { mkdirSync } from 'node:fs';
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { errorMessage, errorTable, isErrorCode, PlatformError } from '#core/errors.ts';
import { limitsFrom } from '#core/limits.ts';
import type { ResourceAccess } from '#resources/access.ts';
import { callSandbox, type SandboxService } from '#resources/sandbox-calls.ts';
import { refusalOf } from '#resources/refusals.ts';
import type { RequestScope, ResourceDeps } from '../../engine/resources/request-scope.ts';
import { askResource } from '../../engine/kinds/operations.ts';
import { answerWith } from './web-answer.ts';

/** Dependencies. */
export interface ResourceApiDeps {
  readonly resources: ResourceDeps;
  readonly sandboxes: SandboxService;
  /** The names of the project. */
  readonly names: () => readonly string[];
  /** The served deployment; null before the first build. */
  readonly served: () => Pick<RequestScope, 'route' | 'artifact'> | null;
  readonly log: (level: 'warn' | 'error', message: string) => void;
}

/** Responds to a request whose path begins with `/projects/`. */
type ResourceApi = (path: string, request: IncomingMessage, response: ServerResponse) => Promise<void>;

const HEADERS = {
  'cache-control': 'no-store',
  'x-content-type-options': 'nosniff',
  'cross-origin-resource-policy': 'same-origin',
};

export function createResourceApi(deps: ResourceApiDeps): ResourceApi {
  let app: Promise<(request: Request) => Promise<Response>> | null = null;
  return async (path, request, response) => {
    app ??= open(deps);
    await answerWith(await app, request, response, path, HEADERS);
  };
}

async function open(deps: ResourceApiDeps): Promise<(request: Request) => Promise<Response>> {
  const [{ platform, HttpError }, { resources }] = await Promise.all([
    import('#packages/worker/index.ts'),
    import('#resources/app.ts'),
  ]);
  const app = platform()
    .state({ resources: accessOf(deps) })
    .onError((error) => {
      if (error instanceof PlatformError) {
        const code = refusalOf(error.code, errorTable[error.code].status);
        return Response.json({ message: error.message, code }, { status: errorTable[code].status });
      }
      if (error instanceof HttpError) {
        const [first] = error.issues ?? [];
        const where = first === undefined ? '' : `${first.in}${first.path.map((part) => `.${part}`).join('')}: `;
        const message = first === undefined ? error.message : `${where}${first.message}`;
        const code = error.status === 404 ? 'not_found' : 'bad_request';
        return Response.json({ message, code }, { status: error.status });
      }
      deps.log('error', `The dashboard failed: ${error instanceof Error ? error.stack : String(error)}`);
      return Response.json({ message: errorMessage('internal'), code: 'internal' }, { status: 500 });
    })
    .route('/', resources)
    .build();
  return async (request) => app.fetch(request, {});
}

function accessOf({ resources, sandboxes, names, served }: ResourceApiDeps): ResourceAccess {
  const refuse: ResourceAccess['refuse'] = (why, reason) => {
    if (why === 'not_found') return new PlatformError('dashboard_not_found', { reason });
    if (why === 'payload_too_large') return new PlatformError('body_too_large', { limit: reason });
    return new PlatformError(why === 'conflict' ? 'conflict' : 'invalid_argument', { reason });
  };
  const access: ResourceAccess = {
    async ask(operation, { project, branch, binding, args }) {
      if (!names().includes(project)) throw refuse('not_found', 'No such project');
      if (branch !== undefined) throw refuse('bad_request', 'platform dev has a single branch: leave branch out');
      const found = served();
      if (found === null)
        throw new PlatformError('dashboard_not_ready', { reason: 'the project has not been built yet' });
      try {
        const { result } = await askResource(resources, found.route, found.artifact, { operation, binding, args });
        // The type of an operation's result is in core/resource-call.ts.
        return result as never;
      } catch (error) {
        // Errors of SQLite and of stores have their own codes.
        if (isErrorCode((error as { code?: unknown }).code)) throw error;
        const { name, message } = error as Error;
        if (name === 'SqlRefusal') throw refuse('bad_request', message);
        throw error;
      }
    },
    async sandbox({ project, branch, binding, request, signal }) {
      const place = await access.ask('sandbox.place', { project, branch, binding, args: {} });
      return callSandbox(sandboxes, place, request, signal);
    },
    explain: async (error) => {
      if (!(error instanceof PlatformError)) return { code: 'internal', message: errorMessage('internal') };
      return { code: refusalOf(error.code, errorTable[error.code].status), message: error.message };
    },
    refuse,
    importLimits: limitsFrom(process.env).database,
    get transit() {
      const folder = join(resources.folder, 'transit');
      mkdirSync(folder, { recursive: true, mode: 0o700 });
      return folder;
    },
  };
  return access;
}
