// Checks of `platform doctor` for certificates: Caddy is installed, no certificate is missing or about to expire.
import { createEdgeStateReader } from '#core/edge-state.ts';
import { isHttpsOn } from '#core/public-https.ts';
import { dataFolder } from '../local/locations.ts';
import type { Shell } from '../terminal/shell.ts';
import { fail, ok, warn, type Finding } from '#operations/doctor/finding.ts';
import { partsHere, versionOf } from './checks.ts';

const SOON_MS = 7 * 24 * 60 * 60_000;
const SHOWN_MAX = 10;

/** Returns no findings if the platform does not issue certificates. */
export async function checkEdge(shell: Shell, now: number = Date.now()): Promise<Finding[]> {
  try {
    if (!isHttpsOn(shell.env['PUBLIC_HTTPS'] ?? '')) return [];
  } catch (error) {
    return [fail('https', (error as Error).message, 'Set the variable to on, or to off behind your own proxy.')];
  }
  const program = shell.env['CADDY_BIN']?.trim() || 'caddy';
  const version = await versionOf(shell, program, ['version']);
  const parts = partsHere(shell);
  const caddy =
    parts !== null && !parts.includes('edge')
      ? ok('caddy', 'Certificates are issued by the edge, which runs elsewhere')
      : version === null
        ? fail('caddy', `${program} is not installed`, 'Install Caddy (apt-get install caddy), or set CADDY_BIN.')
        : ok('caddy', `Caddy ${version}`);
  const certificates = Object.entries(createEdgeStateReader(dataFolder(shell))()?.certificates ?? {});
  const bad = certificates.flatMap(([host, { problem, expiresAt }]): Finding[] => {
    if (problem !== null)
      return [warn('certificate', `${host}: ${problem}`, 'See docs/domains.md for the requirements.')];
    const isLate = expiresAt !== null && Date.parse(expiresAt) - now < SOON_MS;
    return isLate
      ? [warn('certificate', `${host}: expires on ${expiresAt}`, 'The log shows why the certificate is not renewed.')]
      : [];
  });
  return [
    caddy,
    ...bad.slice(0, SHOWN_MAX),
    ...(bad.length > 0
      ? []
      : [ok('certificate', `${certificates.length} hosts have a certificate or are waiting for one`)]),
  ];
}
