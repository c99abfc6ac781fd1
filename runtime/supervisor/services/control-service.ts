// Runs the control plane (the API process). The process runs only if `API_PORT` is set, as `platform start` does. A
// standalone handler, which is given its routes, needs no control plane.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import { operatorAiText, type OperatorAi } from '#core/ai-readiness.ts';
import { sharedSecrets } from '#core/process/generated-secrets.ts';
import { artifactVariables } from '#core/s3/bucket-variables.ts';
import { nodeCommand, smallHeapFlags } from '#core/process/node-command.ts';
import type { Handlers } from '../machine/handlers.ts';
import type { ServiceSpec } from './services.ts';
import type { WebProxy } from './web-service.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's environment for the process. */
const kept =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|FS_PATH|NO_COLOR|CACHE_URL|AUTH_(?:MAIL_)?URL|WEB_TOKEN|SIGN_(?:IN|UP)|HOST|TRUSTED_PROXIES|WORKER_CONCURRENCY|WORKER_CPU_LIMIT_MS_[A-Z_]+|DB_(?:MIGRATIONS_EXECUTOR|MAX_IMPORT_BYTES|DISK_FREE_BYTES_MIN)|SANDBOX_(?:URL|AUTH_TOKEN)|(?:API|UI|MAIL|OIDC|GITHOST|GIT|PUBLIC|HANDLER|BUILD|CONTROL|WEBHOOK|UPLOAD|LOG|TRACE|OTEL|DRAIN|ALERT|DISK|STORAGE)_[A-Z_]+)$/;

/** State of the control plane when it is ready. */
export interface ControlState {
  readonly port: number;
  readonly firstRun: {
    /**
     * Token of the first admin, for the commands of the platform's user on this machine; null if it was deleted or
     * revoked.
     */
    readonly token: string | null;
    /** Whether this start created the token. */
    readonly isNew: boolean;
  };
}

/** Dependencies and callbacks of the service. */
interface ControlServiceDeps {
  readonly environment: Environment;
  readonly folder: string;
  /** URL of the database's owner; '' while it is not known. */
  readonly databaseUrl: () => string;
  /** Identifies requests from the edge; '' if there is no edge. */
  readonly edgeToken: string;
  /** Where handlers are. */
  readonly handlers: () => Handlers;
  /** Address of the API for the web process; null means that the environment contains it. */
  readonly webProxy: WebProxy | null;
  /** Socket of the AI gateway for requests with a token, or null. */
  readonly aiSocket: string | null;
  /** The operator's settings of the gateway, without keys, or null. */
  readonly operatorAi: OperatorAi | null;
  readonly onReady: (state: ControlState) => void;
  /** Called when the process requests another service, such as the builder. */
  readonly onWant: (service: string) => void;
}

/** Whether an environment configures a control plane. */
export function hasControl(environment: Environment, folder: string): boolean {
  const get = (name: string): string => environment[name]?.trim().toLowerCase() ?? '';
  return folder !== '' && get('API_PORT') !== '' && get('API_PORT') !== 'off' && get('DATABASE_URL') !== 'none';
}

/** Variables that the process receives from the operator's environment, in addition to those set by the supervisor. */
export function controlEnvironment(environment: Environment): Environment {
  return Object.fromEntries(Object.entries(environment).filter(([name]) => kept.test(name)));
}

/** @throws {Error} when a secret is missing or weak. */
export function controlService(deps: ControlServiceDeps): ServiceSpec {
  const { environment, folder } = deps;
  const own = controlEnvironment(environment);
  const secrets = sharedSecrets(environment, folder);
  const artifacts = artifactVariables(environment);
  const [program, ...before] = nodeCommand();
  const script = join(
    import.meta.dirname,
    `../../../control/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`,
  );
  return {
    name: 'api',
    start() {
      const { urls, token, machineOrigin } = deps.handlers();
      return fork(script, {
        execPath: program,
        execArgv: [...before, ...smallHeapFlags],
        env: {
          ...own,
          ...secrets,
          ...artifacts,
          FS_PATH: folder,
          DATABASE_URL: deps.databaseUrl(),
          API_HANDLER_URL: urls,
          PRIVATE_PORT_TOKEN: token,
          ...(machineOrigin !== null && { MACHINE_ORIGIN: machineOrigin }),
          ...(deps.webProxy !== null && { API_WEB_LISTEN: deps.webProxy.socket, WEB_TOKEN: deps.webProxy.token }),
          ...(deps.aiSocket !== null && { API_AI_SOCKET: deps.aiSocket }),
          ...(deps.operatorAi !== null && { API_AI_OPERATOR: operatorAiText(deps.operatorAi) }),
          ...(deps.edgeToken !== '' && { EDGE_TOKEN: deps.edgeToken }),
        },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      });
    },
    onMessage(message) {
      const { type, service } = message as { type?: unknown; service?: unknown };
      if (type === 'ready') deps.onReady(message as ControlState);
      if (type === 'want' && typeof service === 'string') deps.onWant(service);
    },
    readyMsMax: 30_000,
    stopMsMax: 10_000,
  };
}
