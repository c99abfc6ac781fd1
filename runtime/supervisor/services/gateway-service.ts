// How the supervisor runs the AI gateway: where there is a database. It alone gets the keys of providers.
import { fork } from 'node:child_process';
import { join } from 'node:path';
import type { OperatorAi } from '#core/ai-readiness.ts';
import { aiSettingsFrom, isAiVariable, publicAiUrl } from '#core/ai-settings.ts';
import { limitVariables } from '#core/limits.ts';
import { sharedEncryptionKey } from '#core/process/generated-secrets.ts';
import { nodeCommand } from '#core/process/node-command.ts';
import type { ServiceSpec } from './services.ts';

type Environment = Readonly<Record<string, string | undefined>>;

/** What the process gets of the operator's environment beside its own variables. */
const KEPT =
  /^(?:PATH|TZ|TMPDIR|NODE_(?:ENV|EXTRA_CA_CERTS|COMPILE_CACHE)|SSL_CERT_(?:FILE|DIR)|LOG_LEVEL|LOG_FORMAT|NO_COLOR)$/;
const isOwn = (name: string): boolean =>
  KEPT.test(name) || isAiVariable(name) || (name.startsWith('AI_') && limitVariables.includes(name));

/** More than it takes to end what is under way. */
const STOP_SPARE_MS = 5000;

/** Where others find it. */
export interface GatewaySockets {
  /** For whoever has a token. */
  readonly tokens: string;
  /** For engines, which say who calls. */
  readonly engines: string;
}

export function gatewaySockets(sockets: string): GatewaySockets {
  return { tokens: join(sockets, 'ai.sock'), engines: join(sockets, 'ai-engines.sock') };
}

/**
 * What engines get to reach a gateway: that of this machine, or over the API that `AI_GATEWAY_URL` names.
 *
 * @param sockets null: none runs here.
 * @throws {Error} when `AI_GATEWAY_URL` is no address.
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

/** What the operator has set of models, as far as everybody may know it. @throws {Error} when a variable is wrong. */
export function operatorAiOf(environment: Environment): OperatorAi {
  const { providers, auto } = aiSettingsFrom(environment);
  return { kinds: providers.map(({ kind }) => kind), auto };
}

/** Whether there is a key for what organizations keep: a supervisor without an API has none of a database elsewhere. */
export function hasGateway(environment: Environment): boolean {
  const get = (name: string): string => environment[name]?.trim() ?? '';
  return get('DATABASE_URL') === '' || get('ENCRYPTION_KEY') !== '';
}

/** @throws {Error} when a variable of the gateway is wrong. */
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
  // At the platform's start, and with the reason.
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
