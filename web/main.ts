// Entry point of the web process: serves the dashboard (`UI_PORT`, 3002), proxies its `/api/` to the API process, and
// serves the documentation (`DOCS_PORT`, 3005). Started by the supervisor, or in its own container; runs no tenant code
// and has no secret except `WEB_TOKEN`.
import type { IncomingMessage, ServerResponse } from 'node:http';
import { join } from 'node:path';
import { openLog } from '#core/log/log.ts';
import { tellFigures } from '#core/process/figures.ts';
import { runProcess } from '#core/process/run-process.ts';
import { readConfiguration } from './configuration.ts';
import { docsAddress } from './serve/docs-address.ts';
import { listen, type Listener } from './serve/listener.ts';
import { createApiProxy } from './serve/api-proxy.ts';
import { answerWaiting } from './serve/waiting-page.ts';
import { openSites, type SiteName } from './sites.ts';

const log = openLog('web', process.env);
/** Includes the sign-in pages, which the API process serves. */
const API_PATH = /^\/api(?:\/|$)/;

async function start(): Promise<() => Promise<void>> {
  const { host, ui, docs, isHttps, limits } = readConfiguration(process.env);
  const apiProxy = ui === null ? null : createApiProxy({ api: ui.api, token: ui.token, limits, log });
  const isCheckout = import.meta.filename.endsWith('.ts');
  const sites = await openSites({
    wanted: [
      ...(ui === null ? [] : [{ name: 'dashboard' as const, isHttps: isHttps.ui }]),
      ...(docs === null ? [] : [{ name: 'docs' as const, isHttps: isHttps.docs }]),
    ],
    builder: isCheckout ? join(import.meta.dirname, 'build/main.ts') : null,
    log,
  });
  const show = async (
    name: SiteName,
    title: string,
    { request, response, path }: { request: IncomingMessage; response: ServerResponse; path: string },
  ): Promise<void> => {
    const state = sites.state(name);
    if (state.site !== null) await state.site.answer(request, response, path);
    else answerWaiting(response, `${title} is not available yet`, `${state.reason}.`, state.isBuilding);
  };

  const answered = new Map<'api' | SiteName, number>();
  const count = (site: 'api' | SiteName): void => void answered.set(site, (answered.get(site) ?? 0) + 1);
  const listeners: Listener[] = [];
  const open = async (variable: 'UI_PORT' | 'DOCS_PORT', port: number, answer: Answer): Promise<number> => {
    const listener = await listen({ host, port, variable, log, answer });
    listeners.push(listener);
    return listener.port;
  };
  let [uiPort, docsPort]: (number | null)[] = [null, null];
  if (ui !== null)
    uiPort = await open('UI_PORT', ui.port, async (request, response, path) => {
      count(API_PATH.test(path) ? 'api' : 'dashboard');
      const page = docsAddress(request.url ?? '', request.headers.host ?? '', {
        url: docs?.url ?? '',
        port: docsPort ?? null,
      });
      if (API_PATH.test(path)) apiProxy!(request, response);
      else if (page !== null) response.writeHead(302, { location: page }).end();
      else await show('dashboard', 'The dashboard', { request, response, path });
    });
  if (docs !== null)
    try {
      docsPort = await open('DOCS_PORT', docs.port, (request, response, path) => {
        count('docs');
        return show('docs', 'The documentation', { request, response, path });
      });
    } catch (error) {
      if (docs.isGiven) throw error;
      log.warn(`Documentation not served: ${(error as Error).message}`);
    }
  process.send?.({ type: 'ready', uiPort, docsPort });
  tellFigures(() => [...answered].map(([site, count]) => ['platform_web_requests_total', { site }, count]));
  return async () => {
    sites.close();
    apiProxy?.close();
    await Promise.all(listeners.map((listener) => listener.close()));
  };
}

type Answer = (request: IncomingMessage, response: ServerResponse, path: string) => Promise<void>;

await runProcess(log, start);
