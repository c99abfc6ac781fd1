// Our side: each case is a worker of its own in an isolate of the real engine, and its one request answers with the
// result.
import { hashOf } from '#core/artifact-id.ts';
import type { Limits } from '#core/limits.ts';
import { defaultLimits } from '#core/limits.ts';
import { toWorkerText } from '#core/worker-text.ts';
import { Deployment, type DeploymentDeps } from '#runtime/engine/serving/deployment.ts';
import { createEngine } from '#runtime/engine/serving/engine.ts';
import { CHECK_MS } from '#runtime/engine/isolates/stuck-entry.ts';
import type { Exchange } from '#runtime/engine/http/listener.ts';
import { noServers } from '#runtime/engine/servers/server-link.ts';
import type { WptCase } from './cases.ts';
import { pageSource, type PageResult } from './page.ts';

// No CPU limit: a page is thousands of tests. The wall fence is the page's own timer.
const limits: Limits = {
  ...defaultLimits,
  isolateMemoryMb: 512,
  startupCpuMs: 0,
  subrequestsMax: 100_000,
  cpu: { ...defaultLimits.cpu, http: { free: 0, pro: 0, enterprise: 0 } },
};

/** Runs cases in isolates. */
export interface IsolateSide {
  run(test: WptCase): Promise<PageResult>;
  close(): Promise<void>;
}

/** Starts an engine for the cases. `cache`: the folder of the guest's snapshot. */
export async function openIsolateSide(folder: string, origin: string, cache: string): Promise<IsolateSide> {
  const engine = await createEngine({
    limits,
    egress: { loopback: true, private: false },
    cacheFolder: cache,
    blanks: 1,
  });
  const live = new Set<Deployment>();
  const alive = setInterval(() => {
    for (const { lanes } of live) lanes.checkAlive();
  }, CHECK_MS);
  let count = 0;
  return {
    async run(test) {
      const logs: string[] = [];
      const deps: DeploymentDeps = {
        pool: engine.pool,
        hostMemory: engine.hostMemory,
        counters: engine.counters.open('wpt', 'wpt'),
        usage: engine.usage.open('wpt', 'wpt'),
        telemetry: null,
        engineCounters: engine.counters,
        recordsAll: false,
        explain: null,
        ids: { prefix: '', last: 0 },
        proxyRequestId: null,
        hostFunctions: engine.hostFunctions,
        limits,
        protocol: 'http',
        clientHeaders: (block) => block,
        onLog: (_deployment, line) =>
          void (line.level === 'error' && logs.length < 3 && logs.push(line.text.slice(0, 400))),
        onRequest: null,
        fallBackToAssets: () => 0,
        sendErrorPage: () => false,
        servers: noServers,
      };
      const code = `export default { fetch: async () => new Response(await ${pageSource(folder, test, origin)}) };`;
      const config = {
        id: `d${String(++count).padStart(12, '0')}`,
        project: 'wpt',
        organization: null,
        plan: 'enterprise' as const,
        vars: {},
        bindings: {},
      };
      const deployment = new Deployment(
        {
          ...config,
          code: () => ({ text: toWorkerText(Buffer.from(code)), hash: hashOf(code) }),
          sourceMap: () => null,
        },
        deps,
      );
      live.add(deployment);
      const { status, body } = await answer(deployment);
      live.delete(deployment);
      deployment.close();
      if (status === 200) return JSON.parse(body) as PageResult;
      return { subtests: {}, death: `status ${status}: ${logs.join(' | ') || body.slice(0, 200)}` };
    },
    async close() {
      clearInterval(alive);
      await engine.close();
    },
  };
}

/** One request without a socket. */
function answer(deployment: Deployment): Promise<{ status: number; body: string }> {
  return new Promise((resolve) => {
    const chunks: Buffer[] = [];
    let status = 0;
    const end = (): void => resolve({ status, body: Buffer.concat(chunks).toString() });
    const exchange: Exchange = {
      requestId: '',
      sentBytes: 0,
      method: 'GET',
      target: '/',
      host: 'wpt.localhost',
      headerBlock: '',
      remoteAddress: '127.0.0.1',
      bodyBytes: 0,
      header: () => null,
      readBody: (sink) => sink.end(),
      resumeBody: () => undefined,
      send(code, _headerBlock, body) {
        status = code;
        if (body !== null) chunks.push(Buffer.from(body as string));
        end();
      },
      begin: (code) => void (status = code),
      upgrade: () => null,
      write(chunk) {
        chunks.push(Buffer.from(chunk as string));
        return true;
      },
      end,
      destroy() {
        status = 0;
        end();
      },
      onAbort: null,
      onDrain: null,
      refusedCookies: '',
    };
    deployment.fetch(exchange);
  });
}
