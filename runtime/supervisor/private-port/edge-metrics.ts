// Caddy's own metrics, from its admin socket. Used by the private port, which exposes no other part of the admin API.
import { ADMIN_HOST } from '#core/process/edge-proxy.ts';

const { request } = process.getBuiltinModule('node:http');
const ANSWER_MS_MAX = 5000;
const BYTES_MAX = 16 * 1024 * 1024;

/** @throws {Error} if Caddy does not answer. */
export function readEdgeMetrics(socketPath: string): Promise<string> {
  return new Promise((resolve, reject) => {
    // Requested without compression, and in the older format, which the platform also uses.
    const headers = { host: ADMIN_HOST, accept: 'text/plain;version=0.0.4' };
    const sent = request({ socketPath, path: '/metrics', headers, timeout: ANSWER_MS_MAX }, (response) => {
      let text = '';
      response.setEncoding('utf8');
      response.on('data', (part: string) => {
        text += part;
        if (text.length > BYTES_MAX) sent.destroy(new Error('Caddy has too many metrics'));
      });
      response.on('end', () =>
        response.statusCode === 200 ? resolve(text) : reject(new Error(`Caddy answered ${response.statusCode}`)),
      );
      response.on('error', reject);
    });
    sent.on('timeout', () => sent.destroy(new Error('Caddy does not answer')));
    sent.on('error', reject);
    sent.end();
  });
}
