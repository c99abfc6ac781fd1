// Parts of the tests of the edge: an ACME authority (Caddy's own), and requests over TLS whose certificates are checked
// against its root. Runs in the namespace of `npm run test:edge`, where names lead to this machine.
import { spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { request, type RequestOptions } from 'node:https';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { until } from './until.ts';

/** An authority that issues to whoever answers on ports 80 or 443 of the name. */
export interface Authority {
  /** For `ACME_URL` and `ACME_CA_FILE`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly rootFile: string;
  /** PEM of its root. */
  root(): string;
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

const PORT = 19_443;

export async function startAuthority(): Promise<Authority> {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-authority-'));
  const rootFile = path.join(folder, 'pki/authorities/local/root.crt');
  const config = {
    admin: { disabled: true },
    storage: { module: 'file_system', root: folder },
    apps: {
      http: {
        http_port: 19_480,
        https_port: PORT,
        servers: {
          ca: {
            listen: [`127.0.0.1:${PORT}`],
            automatic_https: { disable: true },
            tls_connection_policies: [{}],
            routes: [{ handle: [{ handler: 'acme_server', ca: 'local', host: 'acme.test' }] }],
          },
        },
      },
      tls: {
        certificates: { automate: ['acme.test'] },
        automation: { policies: [{ subjects: ['acme.test'], issuers: [{ module: 'internal' }] }] },
      },
      pki: { certificate_authorities: { local: { install_trust: false } } },
    },
  };
  let child: ChildProcess | null = null;
  const authority: Authority = {
    environment: { ACME_URL: `https://acme.test:${PORT}/acme/local/directory`, ACME_CA_FILE: rootFile },
    rootFile,
    root: () => readFileSync(rootFile, 'utf8'),
    async start() {
      child = spawn(process.env['CADDY_BIN'] ?? 'caddy', ['run', '--config', '-'], {
        stdio: ['pipe', 'ignore', 'ignore'],
        env: { PATH: process.env['PATH'], HOME: folder, XDG_DATA_HOME: folder },
      });
      child.stdin!.end(JSON.stringify(config));
      await until(
        async () =>
          existsSync(rootFile) &&
          (await get('acme.test', '/acme/local/directory', { port: PORT }).catch(() => null))?.status === 200,
      );
    },
    async stop() {
      if (child === null || child.exitCode !== null) return;
      child.kill('SIGKILL');
      await once(child, 'exit');
    },
    async close() {
      await authority.stop();
      rmSync(folder, { recursive: true, force: true });
    },
  };
  await authority.start();
  return authority;
}

/** An answer over TLS. */
export interface SecureAnswer {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
}

/** Asks a host on this machine. Without `ca` its certificate is not checked. @throws {Error} of the handshake. */
export function get(
  host: string,
  target = '/',
  options: RequestOptions & { readonly body?: string } = {},
): Promise<SecureAnswer> {
  const { body, ...more } = options;
  return new Promise((resolve, reject) => {
    const sent = request(
      {
        host: '127.0.0.1',
        port: 443,
        path: target,
        servername: host,
        agent: false,
        rejectUnauthorized: options.ca !== undefined,
        ...more,
        headers: { host, ...(options.headers as Record<string, string>) },
      },
      (response) => {
        let text = '';
        response.setEncoding('utf8').on('data', (part: string) => (text += part));
        response.on('end', () => resolve({ status: response.statusCode!, headers: response.headers, text }));
        response.on('error', reject);
      },
    );
    sent.on('error', reject);
    sent.end(body);
  });
}

/** The certificate that a host is served with, and the protocol agreed on. @throws {Error} of the handshake. */
export function handshake(
  host: string,
  protocols: readonly string[] = ['http/1.1'],
): Promise<{ readonly certificate: PeerCertificate; readonly protocol: string | false }> {
  return new Promise((resolve, reject) => {
    const socket = connect({
      host: '127.0.0.1',
      port: 443,
      servername: host,
      rejectUnauthorized: false,
      ALPNProtocols: [...protocols],
    });
    socket.once('secureConnect', () => {
      resolve({ certificate: socket.getPeerCertificate(), protocol: socket.alpnProtocol ?? false });
      socket.destroy();
    });
    socket.once('error', reject);
  });
}
