// Runs the AI gateway, if there is a database. Only this process gets the keys of providers.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { OperatorAi } from '#core/ai-readiness.ts';
import { aiSettingsFrom, isAiVariable, publicAiUrl } from '#core/ai-settings.ts';
import { limitVariables } from '#core/limits.ts';
import { sharedEncryptionKey } from '#core/process/generated-secrets.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** Variables of the operator's environment for the process, besides its own. */
const KEPT =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|SSL_CERT_(?:FILE|DIR)|LOG_LEVEL|LOG_FORMAT|NO_COLOR)$/;
const isOwn = (name: string): boolean =>
  KEPT.test(name) || isAiVariable(name) || (name.startsWith('AI_') && limitVariables.includes(name));

/** Longer than the gateway takes to finish pending requests. */
const STOP_SPARE_MS = 5000;

/** Its sockets. */
interface GatewaySockets {
  /** The socket for requests with a token. */
  readonly tokens: string;
  /** The socket for engines, which identify the caller. */
  readonly engines: string;
}

export function gatewaySockets(sockets: string): GatewaySockets {
  return { tokens: join(sockets, 'ai.sock'), engines: join(sockets, 'ai-engines.sock') };
}

/**
 * Variables for engines to reach a gateway: that of this machine, or through the API at `AI_GATEWAY_URL`.
 *
 * @param sockets null means that no gateway runs here.
 * @throws {Error} when `AI_GATEWAY_URL` is not a URL.
 */
export function engineAi(environment: Environment, sockets: GatewaySockets | null): Record<string, string> {
  const origin = environment['AI_GATEWAY_URL']?.trim() ?? '';
  if (origin !== '' && !/^https?:\/\/[^/?#@]+\/?$/.test(origin))
    throw new Error('AI_GATEWAY_URL must be the address of the API, such as http://api:4002');
  const where =
    sockets !== null
      ? { ENGINE_AI_SOCKET: sockets.engines }
      : origin === ''
        ? null
        : { ENGINE_AI_ORIGIN: new URL(origin).origin };
  return where === null ? {} : { ...where, ENGINE_AI_URL: publicAiUrl(environment) };
}

/** The operator's public AI settings. @throws {Error} when a variable is invalid. */
export function operatorAiOf(environment: Environment): OperatorAi {
  const { providers, auto } = aiSettingsFrom(environment);
  return { kinds: providers.map(({ kind }) => kind), auto };
}

/**
 * Whether there is a key for organizations' settings: a supervisor without an API has no key for a database elsewhere.
 */
export function hasGateway(environment: Environment): boolean {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  return get('DATABASE_URL') === '' || get('ENCRYPTION_KEY') !== '';
}

/** @throws {Error} when a variable of the gateway is invalid. */
export function gatewayService(given: {
  readonly environment: Environment;
  /** Data folder. */
  readonly folder: string;
  readonly sockets: GatewaySockets;
  /** URL of the database's owner. */
  readonly databaseUrl: () => string;
  readonly drainMs: number;
}): ServiceSpec {
  const { environment, folder, sockets, databaseUrl, drainMs } = given;
  // Errors are reported at the platform's start.
  aiSettingsFrom(environment);
  const own = Object.fromEntries(Object.entries(environment).filter(([name]) => isOwn(name)));
  const ENCRYPTION_KEY = sharedEncryptionKey(environment, folder);
  const [program, ...before] = nodeCommand();
  const script = join(
    import.meta.dirname,
    `../../../gateway/main${import.meta.filename.endsWith('.ts') ? '.ts' : '.js'}`,
  );
  return {
    name: 'gateway',
    start: () =>
      fork(script, {
        execPath: program,
        execArgv: [...before, '--disable-warning=ExperimentalWarning'],
        env: {
          ...own,
          ENCRYPTION_KEY,
          DATABASE_URL: databaseUrl(),
          AI_LISTEN: sockets.tokens,
          AI_ENGINES_LISTEN: sockets.engines,
        },
        stdio: ['ignore', 'inherit', 'inherit', 'ipc'],
      }),
    readyMsMax: 20_000,
    stopMsMax: drainMs + STOP_SPARE_MS,
  };
}
