// Servers whose certificate is of an unknown authority or of another name; options cannot switch the check of
// `connect()` off.
import { once } from 'node:events';
import type { AddressInfo } from 'node:net';
import { createServer } from 'node:tls';
import { attacker, type Attack } from '#test/setup/hostile.ts';
import { makeCertificate } from '#test/setup/smtp-server.ts';

const certificate = makeCertificate('other.example');
const server = createServer(certificate, (socket) => socket.on('error', () => {}).end('secret'));
server.on('tlsClientError', () => {});
await once(server.listen(0, '127.0.0.1').unref(), 'listening');
const { port } = server.address() as AddressInfo;

export default {
  kind: 'protocol',
  worker: attacker(
    `const failed = (opened) => opened.then(() => 'open', ({ code }) => code);
    const over = (options) => new Promise((resolve, reject) => tls.connect({ host: '127.0.0.1', port: ${port}, ...options }).on('secureConnect', resolve).on('error', reject));
    const answers = [
      failed(connect({ hostname: '127.0.0.1', port: ${port} }, { secureTransport: 'on', rejectUnauthorized: false, anyName: true, tls: { rejectUnauthorized: false } }).opened),
      failed(connect({ hostname: '127.0.0.1', port: ${port} }, { secureTransport: 'starttls' }).startTls({ expectedServerHostname: 'other.example', rejectUnauthorized: false }).opened),
      failed(over({})),
      failed(over({ ca: ${JSON.stringify(certificate.cert)} })),
      failed(over({ ca: ${JSON.stringify(certificate.cert)}, servername: 'wrong.example' })),
      failed(over({ ca: 'nonsense' })),
    ];
    return new Response((await Promise.all(answers)).join());`,
    `import { connect } from 'cloudflare:sockets'; import tls from 'node:tls';`,
  ),
  environment: { WORKER_EGRESS_ALLOW: 'loopback' },
  attack: ({ get }) => get(),
  expect: [
    '200 DEPTH_ZERO_SELF_SIGNED_CERT,DEPTH_ZERO_SELF_SIGNED_CERT,DEPTH_ZERO_SELF_SIGNED_CERT,ERR_TLS_CERT_ALTNAME_INVALID,ERR_TLS_CERT_ALTNAME_INVALID,DEPTH_ZERO_SELF_SIGNED_CERT',
  ],
} satisfies Attack;
