// The part of undici that the `fetch` of workers runs on, loaded on first use. Loading all of undici takes 135 ms and
// 18 MB; this part takes 60 ms and 6 MB. The modules are loaded in steps, because an engine cannot serve while it loads
// them.
import { createRequire } from 'node:module';
import { setImmediate as turn } from 'node:timers/promises';
import type { Agent, buildConnector, Dispatcher } from 'undici';

/** The loaded modules. */
interface FetchLibrary {
  readonly Agent: new (options: Agent.Options) => Agent;
  readonly buildConnector: typeof buildConnector;
}

const require = createRequire(import.meta.url);
/** The modules in dependency order; each takes about 20 ms to load. */
const steps = [
  'node:http2',
  'undici/lib/core/connect.js',
  'undici/lib/dispatcher/client-h1.js',
  'undici/lib/dispatcher/agent.js',
];

export async function loadFetchLibrary(): Promise<FetchLibrary> {
  for (const step of steps) {
    require(step);
    await turn();
  }
  const agent = require('undici/lib/dispatcher/agent.js') as FetchLibrary['Agent'];
  const dispatcher = require('undici/lib/dispatcher/dispatcher.js') as { readonly prototype: Dispatcher };
  // Undici's own index does the same.
  Object.assign(dispatcher.prototype, require('undici/lib/api/index.js'));
  return { Agent: agent, buildConnector: require('undici/lib/core/connect.js') as typeof buildConnector };
}
