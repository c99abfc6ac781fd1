// Parts of the tests of the edge: an ACME authority (Caddy's own), and requests over TLS whose certificates are checked
// against its root. Runs in the namespace of `npm test -- edge`, where names lead to this machine.
import { execFileSync, spawn, type ChildProcess } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer, request, type RequestOptions } from 'node:https';
import type { AddressInfo } from 'node:net';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { connect, type PeerCertificate } from 'node:tls';
import { until } from './until.ts';

/** An authority that issues to whoever answers on ports 80 or 443 of the name. */
export interface Authority {
  /** For `ACME_URL` and `ACME_CA_FILE`. */
  readonly environment: Readonly<Record<string, string>>;
  readonly rootFile: string;
  /** PEM of its own key and certificate. */
  identity(): { readonly key: string; readonly cert: string };
  /** PEM of its root. */
  root(): string;
  stop(): Promise<void>;
  start(): Promise<void>;
  close(): Promise<void>;
}

/** Of the authority; another one takes its place there while it is stopped. */
export const AUTHORITY_PORT = 19_443;

export async function startAuthority(): Promise<Authority> {
  const folder = mkdtempSync(path.join(tmpdir(), 'platform-authority-'));
  const rootFile = path.join(folder, 'pki/authorities/local/root.crt');
  const config = {
    admin: { disabled: true },
    storage: { module: 'file_system', root: folder },
    apps: {
      http: {
        http_port: 19_480,
        https_port: AUTHORITY_PORT,
        servers: {
          ca: {
            listen: [`127.0.0.1:${AUTHORITY_PORT}`],
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
    environment: { ACME_URL: `https://acme.test:${AUTHORITY_PORT}/acme/local/directory`, ACME_CA_FILE: rootFile },
    rootFile,
    identity() {
      const file = path.join(folder, 'certificates/local/acme.test/acme.test');
      return { key: readFileSync(`${file}.key`, 'utf8'), cert: readFileSync(`${file}.crt`, 'utf8') };
    },
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
          (await get('acme.test', '/acme/local/directory', { port: AUTHORITY_PORT }).catch(() => null))?.status === 200,
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
interface SecureAnswer {
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

/** An authority that takes no order: it has issued too many. @param words what it says. */
export async function startLimitingAuthority(given: {
  readonly key: string;
  readonly cert: string;
  readonly words: string;
  readonly port?: number;
}): Promise<{ readonly port: number; orders(): number; close(): void }> {
  const { key, cert, words, port = 0 } = given;
  let orders = 0;
  const server = createServer({ key, cert }, (asked, response) => {
    const base = `https://acme.test:${(server.address() as AddressInfo).port}`;
    response.setHeader('content-type', 'application/json');
    response.setHeader('replay-nonce', `nonce${Math.random().toString(36).slice(2)}`);
    if (asked.url?.endsWith('/directory') === true)
      return response.end(
        JSON.stringify({ newNonce: `${base}/nonce`, newAccount: `${base}/account`, newOrder: `${base}/order` }),
      );
    // Whoever knows another authority's directory goes on with its paths.
    if (asked.url?.endsWith('account') === true) {
      response.writeHead(201, { location: `${base}/account/1`, 'content-type': 'application/json' });
      return response.end('{"status":"valid"}');
    }
    if (asked.url?.endsWith('order') === true) {
      orders++;
      response.writeHead(429, { 'content-type': 'application/problem+json', 'retry-after': '3600' });
      return response.end(
        JSON.stringify({ type: 'urn:ietf:params:acme:error:rateLimited', detail: words, status: 429 }),
      );
    }
    response.end();
  }).listen(port, '127.0.0.1');
  await once(server, 'listening');
  return {
    port: (server.address() as AddressInfo).port,
    orders: () => orders,
    close() {
      server.close();
      server.closeAllConnections();
    },
  };
}

/** Key and certificate, in files of that name. */
export function selfSigned(host: string, into: string, name = host, more: readonly string[] = []): [string, string] {
  const [key, cert] = [path.join(into, `${name}.key`), path.join(into, `${name}.crt`)];
  if (more.length === 0)
    execFileSync(
      'openssl',
      [
        ...'req -x509 -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -days 2'.split(' '),
        '-subj',
        '/CN=test',
        '-addext',
        `subjectAltName=DNS:${host}`,
        '-keyout',
        key,
        '-out',
        cert,
      ],
      { stdio: 'ignore' },
    );
  else {
    const [request, ext] = [path.join(into, `${name}.csr`), path.join(into, `${name}.ext`)];
    writeFileSync(
      ext,
      `subjectAltName=DNS:${host}\n[ca]\ndefault_ca=own\n[own]\ndatabase=${into}/index\nserial=${into}/serial\nnew_certs_dir=${into}\ndefault_md=sha256\npolicy=any\nunique_subject=no\n[any]\ncommonName=supplied\n`,
    );
    writeFileSync(path.join(into, 'index'), '');
    writeFileSync(path.join(into, 'serial'), '01\n');
    const run = (line: string): void => void execFileSync('openssl', line.split(' '), { stdio: 'ignore' });
    run(
      `req -new -newkey ec -pkeyopt ec_paramgen_curve:prime256v1 -nodes -subj /CN=test -keyout ${key} -out ${request}`,
    );
    run(
      `ca -batch -selfsign -config ${ext} -extfile ${ext} -keyfile ${key} -in ${request} -out ${cert} -startdate ${more[1]} -enddate ${more[3]} -notext`,
    );
  }
  return [readFileSync(key, 'utf8'), readFileSync(cert, 'utf8')];
}
