// The AI gateway of `platform dev`: the platform's gateway in this process with accounts in memory, or the gateway at
// PLATFORM_DEV_AI_URL. Opened by commands/dev.ts and loaded with the first call.
import { randomBytes } from 'node:crypto';
import { devCaller } from '#core/ai-caller.ts';
import type { Gateway } from '#gateway/contract/contract.ts';
import { hashOf, isSame, newToken } from '#core/ai-token.ts';
import { aiSettingsFrom, type AiProvider, type AiSettings } from '#core/ai-settings.ts';
import type { Limits } from '#core/limits.ts';
import type { DevAi } from '#runtime/dev/contract/dev-engine.ts';
import { wantsAi, type Project } from '../project/project.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import type { OtherGateway } from './organization-ai.ts';

/** The gateway of a session. */
interface SessionAi extends DevAi {
  /** Source of the responses, for the output. */
  readonly said: string;
  close(): Promise<void>;
}

interface AiDeps {
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly project: string;
  readonly limits: Limits;
  /** Gateway of an organization, or null. Providers set locally take precedence. */
  readonly organization: OtherGateway | null;
  readonly log: (level: 'info' | 'warn' | 'error', message: string) => void;
}

const MOCK: AiProvider = { name: 'mock', kind: 'mock', url: '', key: '', models: [] };
const URL_VARIABLE = 'PLATFORM_DEV_AI_URL';
const TOKEN_VARIABLE = 'PLATFORM_DEV_AI_TOKEN';

/**
 * Finds the gateway of an organization for a project that calls models. Other projects do not load the code for that.
 */
export async function organizationAi(
  load: () => Project,
  ...where: readonly [shell: Shell, folder: string, environment: Readonly<Record<string, string | undefined>>]
): Promise<OtherGateway | null> {
  if (!wantsAi(load)) return null;
  const { findOrganizationAi } = await import('./organization-ai.ts');
  return findOrganizationAi(...where);
}

/** @throws {CliError} for invalid variables. */
export function openAi(deps: AiDeps): SessionAi {
  const { environment } = deps;
  const url = environment[URL_VARIABLE]?.trim() ?? '';
  const token = environment[TOKEN_VARIABLE]?.trim() ?? '';
  if (url === '' && token === '') {
    const { organization } = deps;
    const hasProviders = settingsOf(environment).providers.length > 0;
    return organization === null || hasProviders ? openOwn(deps) : openOther(organization);
  }
  const missing = url === '' ? URL_VARIABLE : token === '' ? TOKEN_VARIABLE : null;
  if (missing !== null)
    throw new CliError(
      `${missing} is not set, although ${missing === URL_VARIABLE ? TOKEN_VARIABLE : URL_VARIABLE} is`,
      {
        advice: 'Set both or neither. Without them, the AI gateway runs in platform dev',
      },
    );
  const base = URL.parse(url);
  if (base === null || !/^https?:$/.test(base.protocol) || base.search !== '' || base.hash !== '')
    throw new CliError(`${URL_VARIABLE} must be a URL such as https://api.example.com/ai, but is "${url}"`);
  const trimmed = url.replace(/\/+$/, '');
  return openOther({ url: trimmed, token, said: `from ${trimmed}` });
}

function openOwn({ environment, project, limits, log }: AiDeps): SessionAi {
  const settings = settingsOf(environment);
  const isMock = settings.providers.length === 0;
  const token = newToken(`dev${randomBytes(4).toString('hex')}`);
  let opening: Promise<Gateway> | null = null;
  const open = async (): Promise<Gateway> => {
    const [{ createGateway }, { createMemoryAccounts }, { operatorTable }, { openOutlet }] = await Promise.all([
      import('#gateway/gateway.ts'),
      import('#gateway/accounts/memory.ts'),
      import('#gateway/process/operator-table.ts'),
      import('#gateway/process/send.ts'),
    ]);
    const table = operatorTable(isMock ? { ...settings, providers: [MOCK], auto: ['mock/echo'] } : settings);
    const outlet = openOutlet();
    const withToken = devCaller('dev', project);
    const hash = hashOf(token);
    const gateway = createGateway({
      ...createMemoryAccounts({ now: Date.now, limitsOf: () => [] }),
      tokens: {
        authenticate: (given) => Promise.resolve(isSame(hashOf(given), hash) ? withToken : ('invalid' as const)),
      },
      models: () => Promise.resolve(table),
      price: () => null,
      send: outlet.send,
      log: (level, message) => log(level, `AI gateway: ${message}`),
      now: Date.now,
      limits: limits.gateway,
    });
    return {
      ...gateway,
      async close() {
        await gateway.close();
        await outlet.close();
      },
    };
  };
  return {
    url: null,
    token,
    said: isMock
      ? 'uses the mock provider with deterministic responses: set AI_PROVIDER_<NAME>_KIND to use another'
      : `from ${settings.providers.map(({ name }) => name).join(', ')}`,
    async fetch(request, caller) {
      const gateway = await (opening ??= open());
      return caller === null ? gateway.fetch(request) : gateway.fetch(request, { ...caller, kind: 'dev' });
    },
    async close() {
      await (await opening)?.close();
    },
  };
}

/** @throws {CliError} */
function settingsOf(environment: AiDeps['environment']): AiSettings {
  try {
    return aiSettingsFrom(environment);
  } catch (error) {
    throw new CliError((error as Error).message, { advice: 'See docs/ai.md for model providers' });
  }
}

/** Forwards all requests to another gateway. */
function openOther({ url, token, said }: OtherGateway): SessionAi {
  return {
    url,
    token,
    said,
    async fetch(request, caller) {
      const { pathname, search } = new URL(request.url);
      const headers = new Headers(request.headers);
      if (caller !== null) headers.set('authorization', `Bearer ${token}`);
      const response = await fetch(`${url}${pathname.slice('/ai'.length)}${search}`, {
        method: request.method,
        headers,
        body: request.body,
        duplex: 'half',
        redirect: 'manual',
        signal: request.signal,
      } as RequestInit);
      // `fetch` has already decompressed the body, so these headers no longer apply.
      const answered = new Headers(response.headers);
      answered.delete('content-encoding');
      answered.delete('content-length');
      return new Response(response.body, { status: response.status, headers: answered });
    },
    close: () => Promise.resolve(),
  };
}
