// What all files of test/browser/ share in a run: one Chromium and, where one of them opens a dashboard of
// shared-dashboard.ts, one platform with a collector of spans and a sandbox service. Called by global.ts; the files
// find them by variables.
import { readFileSync } from 'node:fs';
import path from 'node:path';
import { chromium as engine } from 'playwright-core';
import { windowlessChromium } from '#cli/tasks/tools/chromium.ts';
import { buildDashboardSite } from '#web/build/dashboard-site.ts';
import { chromiumVariable } from './dashboard-browser.ts';
import { deliveredOnce } from './dashboard-project.ts';
import { openOtlpReceiver } from './otlp-receiver.ts';
import { startTestSandboxService } from './sandbox-service.ts';
import { platformVariable, type SharedPlatform } from './shared-dashboard.ts';
import { eventually, startWholePlatform } from './whole-platform.ts';

interface Stoppable {
  stop(): Promise<void>;
}

/** Starts what these files want. */
export async function startBrowserSuite(files: readonly string[]): Promise<Stoppable> {
  const running: Stoppable[] = [];
  const stop = async (): Promise<void> => {
    for (const one of running.toReversed()) await one.stop();
  };
  try {
    // Where there is none, each file says so.
    if (windowlessChromium !== null) running.push(await startChromium(windowlessChromium));
    if (files.some((file) => /setup\/shared-dashboard\.ts/.test(readFileSync(file, 'utf8'))))
      await startSharedPlatform(running);
  } catch (error) {
    await stop();
    throw error;
  }
  return { stop };
}

async function startChromium(executablePath: string): Promise<Stoppable> {
  const server = await engine.launchServer({
    executablePath,
    host: '127.0.0.1',
    // A page of a site and a context that is open already starts twice as quickly in the process of that one.
    args: ['--no-sandbox', '--disable-dev-shm-usage', '--process-per-site'],
  });
  process.env[chromiumVariable] = server.wsEndpoint();
  return { stop: () => server.close() };
}

/** With what any of the files needs of it. @param running gets what was started, in its order */
async function startSharedPlatform(running: Stoppable[]): Promise<void> {
  const collector = await openOtlpReceiver();
  running.push({ stop: () => collector.close() });
  const sandboxes = await startTestSandboxService();
  running.push({ stop: () => sandboxes.close() });
  // Built before, so that the platform has nothing to build beside.
  await buildDashboardSite(process.env);
  const platform = await startWholePlatform({
    ...deliveredOnce,
    // No engine dies here.
    HANDLER_SPARES: '0',
    AI_PROVIDER_MOCK_KIND: 'mock',
    AI_AUTO: 'mock/echo',
    AI_PRICES_FILE: path.join(import.meta.dirname, '../fixtures/ai-prices.json'),
    DB_MIGRATIONS_EXECUTOR: 'migrator',
    SANDBOX_URL: sandboxes.address.url,
    SANDBOX_AUTH_TOKEN: sandboxes.address.token,
    OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
    WORKER_EGRESS_ALLOW: 'loopback',
  });
  running.push({ stop: () => platform.close() });
  const { folder, ports } = platform;
  await eventually('The dashboard', async () => (await fetch(`http://localhost:${ports.ui}`)).ok);
  const shared: SharedPlatform = { folder, ports, collectorUrl: collector.url };
  process.env[platformVariable] = JSON.stringify(shared);
}
