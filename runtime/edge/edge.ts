// The running edge: Caddy with its configuration, the answers to its questions, the certificates before the first
// visit, and the state for other processes. Created by main.ts and by tests.
import { chmodSync, mkdirSync, mkdtempSync, readFileSync, renameSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connect } from 'node:tls';
import type { Logger } from 'pino';
import { edgeFolder, type EdgeState, type HostCertificate } from '#core/edge-state.ts';
import type { RouteSource } from '#artifacts/route-source.ts';
import { openAsk } from './ask.ts';
import { createAuthorityCheck } from './authority-check.ts';
import { startCaddy, type Caddy, type CaddyLine } from './caddy.ts';
import { caddyConfig } from './caddy-config.ts';
import type { EdgeConfiguration } from './configuration.ts';
import { openHandlers } from './handlers.ts';
import { createFailures } from './failures.ts';
import { knownHosts, type KnownHosts } from './known-hosts.ts';
import { createCertificateReader, parseCertificate, type StoredCertificate } from './stored-certificates.ts';

const WEEK_MS = 7 * 24 * 60 * 60_000;
/** Interval of certificate checks; a line of Caddy's log triggers a check immediately. */
const LOOK_MS = 30_000;
const SETTLE_MS = 200;
const GREETINGS_TOGETHER = 4;
const GREETING_MS_MAX = 95_000;
const RESTART_MS = 200;
const RESTART_MS_MAX = 10_000;

/** A running edge. */
interface Edge {
  readonly caddyPid: () => number | null;
  /** Unix socket of Caddy's admin API, which also serves Caddy's metrics. */
  readonly adminSocket: string;
  /**
   * Sets the handlers, as `host:port`. Resolves when the edge sends requests to them; has no effect if `EDGE_HANDLERS`
   * is set.
   */
  setHandlers(upstreams: readonly string[]): Promise<void>;
  close(): Promise<void>;
}

/** @throws {Error} with Caddy's message when Caddy does not start. */
export async function startEdge(config: EdgeConfiguration, routes: RouteSource, log: Logger): Promise<Edge> {
  const folder = edgeFolder(config.folder);
  const storage = join(folder, 'caddy');
  mkdirSync(storage, { recursive: true, mode: 0o700 });
  for (const path of [folder, storage]) chmodSync(path, 0o700);
  // Socket paths must be short. The path is always the same, so that a Caddy process whose parent was killed can be
  // found.
  const inFolder = join(folder, 'admin.sock');
  const temporary = inFolder.length <= 100 ? null : mkdtempSync(join(tmpdir(), 'platform-edge-'));
  const adminSocket = temporary === null ? inFolder : join(temporary, 'admin.sock');

  const { limits } = config;
  const failures = createFailures({
    retryMs: limits.retryMs,
    retryMsMax: limits.retryMsMax,
    most: limits.hostsRemembered,
  });
  const checkAuthority = createAuthorityCheck(config.acme, limits.authorityMsMax);
  const readCertificates = createCertificateReader(storage, config.acme.url);
  const siteHosts = config.sites.map(({ host }) => host);
  let hosts: KnownHosts = knownHosts([], config.domains, siteHosts);
  let certificates: ReadonlyMap<string, StoredCertificate> = new Map();
  /** New deployments for which Caddy may currently request a certificate, with the time of the permission. */
  const granted = new Map<string, number>();
  let closing = false;
  let caddy: Caddy | null = null;

  const readHosts = (): void => {
    hosts = knownHosts(routes.routes, config.domains, siteHosts);
    lookSoon();
  };

  function failed(host: string, problem: string): void {
    const until = failures.add(host, problem);
    log.warn({ host, reason: problem.slice(0, 500), until: new Date(until).toISOString() }, 'No certificate');
    lookSoon();
  }

  /** If the authority became unreachable after the check, this is reported instead of Caddy's error. */
  async function failedAtCaddy(host: string, error: string): Promise<void> {
    failures.add(host, error);
    failed(host, (await checkAuthority('afresh')) ?? error);
  }

  /** Why no certificate may be issued; null if it may. */
  async function refusal(host: string): Promise<string | null> {
    const kind = hosts.kindOf(host);
    if (kind === null) return 'the host is not known';
    const failure = failures.of(host);
    if (failure !== null && failure.until > Date.now()) return `it failed before: ${failure.problem}`;
    const problem = await checkAuthority();
    if (problem !== null) {
      failed(host, problem);
      return problem;
    }
    if (kind !== 'deployment' || certificates.has(host)) return null;
    const since = Date.now() - WEEK_MS;
    for (const [name, at] of granted) if (at < since) granted.delete(name);
    let used = 0;
    for (const [name, { notBefore }] of certificates)
      if (notBefore > since && !granted.has(name) && hosts.kindOf(name) === 'deployment') used++;
    if (!granted.has(host) && used + granted.size >= limits.certificatesPerWeek)
      return `${limits.certificatesPerWeek} certificates a week are allowed for deployments (EDGE_CERTIFICATES_PER_WEEK)`;
    granted.set(host, Date.now());
    return null;
  }

  const ask = await openAsk({
    refusal,
    perSecond: limits.asksPerSecond,
    onRefused: (host, reason) => log.debug({ host, reason }, 'Certificate refused'),
  });

  const handlers = config.hasFixedHandlers ? null : await openHandlers({ folder, local: config.handlers, log });
  const settings = { ...config, adminSocket, storage, askUrl: ask.url, resolver: handlers?.resolver ?? null };

  function onLine(line: CaddyLine): void {
    const host = line.identifier ?? line.server_name;
    if (line.level === 'error' && line.error !== undefined && host !== undefined && hosts.kindOf(host) !== null) {
      if (/could not get certificate|could not renew|will retry/.test(line.msg ?? '')) {
        void failedAtCaddy(host, line.error);
      }
    } else if (host !== undefined && /^certificate (?:obtained|renewed) successfully/.test(line.msg ?? '')) {
      failures.clear(host);
      log.info({ host }, 'Certificate obtained');
      lookSoon();
    } else if (line.level === 'error' && line.logger !== 'http.log.error' && !isVisitors(line))
      log.warn({ logger: line.logger, reason: line.error?.slice(0, 500) }, `Caddy: ${line.msg ?? ''}`);
  }

  const pidFile = join(folder, 'caddy.pid');
  let deaths = 0;
  let startedAt = 0;
  async function run(): Promise<void> {
    startedAt = performance.now();
    caddy = await startCaddy({
      program: config.program,
      config: caddyConfig(settings),
      adminSocket,
      folder,
      onLine,
      onExit(code, signal) {
        caddy = null;
        rmSync(pidFile, { force: true });
        if (closing) return;
        deaths = performance.now() - startedAt > RESTART_MS_MAX ? 1 : deaths + 1;
        log.error({ code, signal }, 'Caddy exited: restarting');
        again();
      },
    });
    writeFileSync(pidFile, String(caddy.pid), { mode: 0o600 });
  }
  function again(): void {
    const delayMs = deaths <= 1 ? 0 : Math.min(RESTART_MS_MAX, RESTART_MS * 2 ** (deaths - 2));
    setTimeout(() => {
      if (closing) return;
      run().catch((error: Error) => {
        deaths++;
        log.error({ reason: error.message }, 'Caddy does not start');
        again();
      });
    }, delayMs);
  }

  const greeting = new Set<string>();
  /** Makes Caddy request or renew the certificate of a host, by a handshake like that of a visitor. */
  function greet(host: string): void {
    if (greeting.size >= GREETINGS_TOGETHER || greeting.has(host) || caddy === null) return;
    greeting.add(host);
    const at = config.host === '' || config.host === '0.0.0.0' || config.host === '::' ? '127.0.0.1' : config.host;
    const socket = connect({ host: at, port: config.httpsPort, servername: host, rejectUnauthorized: false });
    socket.setTimeout(GREETING_MS_MAX, () => socket.destroy());
    socket.once('secureConnect', () => socket.end());
    socket.on('error', () => {});
    socket.once('close', () => {
      greeting.delete(host);
      if (!closing) lookSoon();
    });
  }

  let timer: NodeJS.Timeout | null = null;
  let written = '';
  function lookSoon(delayMs = SETTLE_MS): void {
    if (closing) return;
    if (timer !== null && delayMs !== SETTLE_MS) return;
    if (timer !== null) clearTimeout(timer);
    timer = setTimeout(() => void look().then(lookSoon), delayMs);
  }

  const fileStamp = (): string =>
    config.files.map(({ certificate }) => statSync(certificate, { throwIfNoEntry: false })?.mtimeMs ?? 0).join(' ');
  let loadedFiles = fileStamp();

  /** @returns the delay of the next check. */
  async function look(): Promise<number> {
    timer = null;
    let nextMs = LOOK_MS;
    try {
      const stamp = fileStamp();
      if (stamp !== loadedFiles && caddy !== null) {
        loadedFiles = stamp;
        await caddy.load(caddyConfig(settings));
        log.info('Certificate files read again');
      }
      certificates = await readCertificates();
      const state: Record<string, HostCertificate> = {};
      const now = Date.now();
      const own = config.files.map(({ certificate }) => parseCertificate(readFileSync(certificate)));
      const add = (host: string): void => {
        const stored = own.find(({ names }) => names.some((name) => covers(name, host))) ?? certificates.get(host);
        const failure = failures.of(host);
        state[host] = toState(stored, failure, config.renewalRatio, now);
        const isDue = stored === undefined || Date.parse(state[host].renewsAt ?? '') <= now;
        if (isDue && failure !== null && failure.until > now) nextMs = Math.min(nextMs, failure.until - now);
        else if (isDue) greet(host);
      };
      for (const host of hosts.eager()) add(host);
      for (const host of certificates.keys())
        if (state[host] === undefined && hosts.kindOf(host) === 'deployment')
          state[host] = toState(certificates.get(host), failures.of(host), config.renewalRatio, now);
      write(state);
    } catch (error) {
      log.error({ reason: (error as Error).message }, 'Certificates not read');
    }
    return nextMs;
  }

  function write(state: Record<string, HostCertificate>): void {
    const text = JSON.stringify(state);
    const caddyState = caddy === null ? 'stopped' : 'ready';
    if (written === text + caddyState) return;
    written = text + caddyState;
    const file = join(folder, 'state.json');
    const whole: EdgeState = {
      version: 1,
      writtenAt: new Date().toISOString(),
      caddy: caddyState,
      certificates: state,
    };
    writeFileSync(`${file}.new`, JSON.stringify(whole), { mode: 0o600 });
    renameSync(`${file}.new`, file);
  }

  try {
    certificates = await readCertificates();
    await run();
  } catch (error) {
    ask.close();
    handlers?.close();
    throw error;
  }
  routes.onChange(readHosts);
  readHosts();
  return {
    caddyPid: () => caddy?.pid ?? null,
    adminSocket,
    setHandlers: async (upstreams) => handlers?.set(upstreams),
    async close() {
      closing = true;
      if (timer !== null) clearTimeout(timer);
      await caddy?.stop();
      ask.close();
      handlers?.close();
      if (temporary !== null) rmSync(temporary, { recursive: true, force: true });
    },
  };
}

/** Errors caused by requests for unknown hosts are not problems of the edge. */
function isVisitors({ msg = '' }: CaddyLine): boolean {
  return /TLS handshake error|aborting with incomplete response/.test(msg);
}

/** Whether a name in a certificate covers a host; a star matches one label. */
function covers(name: string, host: string): boolean {
  return name === host || (name.startsWith('*.') && host.slice(host.indexOf('.')) === name.slice(1));
}

function toState(
  stored: StoredCertificate | undefined,
  failure: { readonly problem: string; readonly until: number } | null,
  renewalRatio: number,
  now: number,
): HostCertificate {
  const iso = (ms: number): string => new Date(ms).toISOString();
  const said = { problem: failure?.problem ?? null, nextAttemptAt: failure === null ? null : iso(failure.until) };
  if (stored === undefined) return { issuer: null, notBefore: null, expiresAt: null, renewsAt: null, ...said };
  const { issuer, notBefore, notAfter } = stored;
  const renewsAt = notAfter - (notAfter - notBefore) * renewalRatio;
  const problem =
    notBefore > now
      ? `The certificate is not valid before ${iso(notBefore)}: the clock of this machine, or of the authority, is wrong`
      : notAfter <= now
        ? `The certificate expired on ${iso(notAfter)}${failure === null ? '' : `: ${failure.problem}`}`
        : said.problem;
  return { issuer, notBefore: iso(notBefore), expiresAt: iso(notAfter), renewsAt: iso(renewsAt), ...said, problem };
}
