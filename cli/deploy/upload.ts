// Uploads an artifact: packed, in chunks, atomically. Interrupted uploads resume.
import { mkdtempSync, openSync, closeSync, readSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import path from 'node:path';
import { packArtifact } from '#artifacts/archive/pack-artifact.ts';
import type { Api } from '../account/api.ts';
import { ask } from '../api/requests.ts';
import { CliError } from '../terminal/failure.ts';
import type { Shell } from '../terminal/shell.ts';
import { formatBytes } from '../terminal/table.ts';

/** Target of the upload. */
interface UploadAs {
  readonly branch: string;
  readonly target?: 'production' | 'preview';
  readonly commit?: string;
}

interface Upload {
  readonly id: string;
  readonly bytes: number;
  /** The next byte to send. */
  readonly received: number;
}

const PIECE_BYTES = 8 * 1024 * 1024;
/** Attempts per chunk. */
const ATTEMPTS_MAX = 5;
const PAUSE_MS = 300;

/** Uploads and deploys an artifact's folder. @returns the deployment's ID. */
export async function uploadArtifact(
  shell: Shell,
  api: Api,
  projectId: string,
  folder: string,
  as: UploadAs,
): Promise<string> {
  const temporary = mkdtempSync(path.join(tmpdir(), 'platform-upload-'));
  const archive = path.join(temporary, 'artifact.tar.gz');
  try {
    const { bytes, sha256 } = await packArtifact(folder, archive);
    const uploads = `/projects/${encodeURIComponent(projectId)}/uploads`;
    const upload = await ask<Upload>(api, 'POST', uploads, { body: { bytes, sha256, ...as } });
    await sendPieces(shell, api, upload, archive);
    const deploy = `/uploads/${encodeURIComponent(upload.id)}/deploy`;
    const { deploymentId } = await ask<{ deploymentId: string }>(api, 'POST', deploy);
    return deploymentId;
  } finally {
    shell.progress(null);
    rmSync(temporary, { recursive: true, force: true });
  }
}

async function sendPieces(shell: Shell, api: Api, begun: Upload, archive: string): Promise<void> {
  const at = `/uploads/${encodeURIComponent(begun.id)}`;
  const file = openSync(archive, 'r');
  try {
    let upload = begun;
    let failures = 0;
    while (upload.received < upload.bytes) {
      const offset = upload.received;
      const piece = new Uint8Array(Math.min(PIECE_BYTES, upload.bytes - offset));
      readSync(file, piece, 0, piece.length, offset);
      const range = `bytes ${offset}-${offset + piece.length - 1}/${upload.bytes}`;
      shell.progress(`Uploading ${formatBytes(offset)} of ${formatBytes(upload.bytes)}`);
      try {
        upload = await ask<Upload>(api, 'PUT', at, {
          bytes: piece,
          headers: { 'content-type': 'application/octet-stream', 'content-range': range },
        });
        if (!(upload.received > offset)) throw new CliError('The upload makes no progress', { code: 'upload_stuck' });
        failures = 0;
      } catch (error) {
        // Retry broken connections, but not refused requests.
        if (!mayGoOn(error) || ++failures >= ATTEMPTS_MAX) throw error;
        await new Promise((resolve) => setTimeout(resolve, PAUSE_MS * 2 ** failures));
        upload = await ask<Upload>(api, 'GET', at).catch(() => upload);
      }
    }
  } finally {
    closeSync(file);
  }
}

/** Whether an error is transient: no response, or the platform is not ready. */
function mayGoOn(error: unknown): boolean {
  return (
    error instanceof CliError && (error.code === null || error.code === 'unavailable' || error.code === 'conflict')
  );
}
