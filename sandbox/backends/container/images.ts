// Images that sandboxes may use in addition to the default image; missing images are pulled on first use. Callers wait
// for a limited time, after which the pull continues in the background. Called by backend.ts.
import { setTimeout as delay } from 'node:timers/promises';
import { PlatformError } from '#core/errors.ts';
import { isFailure } from '#core/failure.ts';
import { type EngineApi } from './engine-api.ts';

interface Images {
  /** @throws {PlatformError} `sandbox_unavailable`: the image is missing, or still being pulled. */
  have(image: string): Promise<void>;
}

export function openImages(deps: {
  readonly api: EngineApi;
  /** How long a call waits. */
  readonly waitMs: number;
  report(message: string): void;
}): Images {
  const { api, waitMs, report } = deps;
  /** Resolves when the pull has ended, to whether the image exists. */
  const pulls = new Map<string, Promise<boolean>>();

  async function isThere(image: string): Promise<boolean> {
    try {
      await api.call('GET', `/images/${encodeURIComponent(image)}/json`);
      return true;
    } catch (error) {
      if (isFailure(error, 'container_engine') && error.status === 404) return false;
      throw error;
    }
  }

  async function pull(image: string): Promise<boolean> {
    report(`image ${image} is pulled, since a sandbox wants it and the engine lacks it`);
    try {
      const { name, tag } = partsOf(image);
      await api.call('POST', `/images/create?${new URLSearchParams({ fromImage: name, tag }).toString()}`);
    } catch (error) {
      report(`image ${image} is not pulled: ${(error as Error).message}`);
    }
    // Engines report errors in the body of a response with status 200.
    return isThere(image).catch(() => false);
  }

  return {
    async have(image) {
      if (await isThere(image)) return;
      let pulling = pulls.get(image);
      if (pulling === undefined) {
        pulling = pull(image).finally(() => pulls.delete(image));
        pulls.set(image, pulling);
      }
      const ended = new AbortController();
      const late = delay(waitMs, null, { signal: ended.signal }).catch(() => null);
      const isPulled = await Promise.race([pulling, late]).finally(() => ended.abort());
      if (isPulled === true) return;
      throw new PlatformError('sandbox_unavailable', {
        reason:
          isPulled === null
            ? `image ${image} is being pulled, try again later`
            : `the container engine has no image ${image}, and cannot pull it`,
      });
    },
  };
}

/** Without a tag, an engine would pull all tags. @example partsOf('host:5000/a').tag // 'latest' */
function partsOf(image: string): { readonly name: string; readonly tag: string } {
  const [, name = image, tag = 'latest'] = /^(.+?)(?:@(sha256:.+)|:([^/]+))?$/.exec(image)?.filter(Boolean) ?? [];
  return { name, tag };
}
