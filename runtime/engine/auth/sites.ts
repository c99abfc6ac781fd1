// Which sites' sign-in is open, used by users.ts. Opening one takes 13 ms of the engine's main thread, and whoever
// sends a request chooses the port behind the host, which makes another site of it: so a project opens few a moment,
// and has few of them open.

/** A project opens so many at once, then one in so many ms. */
const [opensAtOnce, openMs] = [8, 2000];
const SITES_OF_ONE_MAX = 8;
const PROJECTS_MAX = 200;
/** Sites without such a port: there are no more than hosts that lead somewhere. */
const PLAIN_MAX = 500;

interface Project<Site> {
  readonly sites: Map<string, Site>;
  opens: number;
  at: number;
}

/** Open sites by project; those that were used last stay. */
export class Sites<Site> {
  readonly #plain = new Map<string, Site>();
  readonly #projects = new Map<string, Project<Site>>();
  readonly #now: () => number;

  constructor(now: () => number = () => performance.now()) {
    this.#now = now;
  }

  /**
   * A site, whose key names its project too. @param isChosen a client chose its port. @returns null where the project
   * has opened too many such.
   */
  get(project: string, key: string, isChosen: boolean, open: () => Site): Site | null {
    if (!isChosen) {
      const known = this.#plain.get(key) ?? open();
      this.#plain.delete(key);
      this.#plain.set(key, known);
      dropOldest(this.#plain, PLAIN_MAX);
      return known;
    }
    const found = this.#projectOf(project);
    let site = found.sites.get(key);
    if (site === undefined) {
      const now = this.#now();
      found.opens = Math.min(opensAtOnce, found.opens + (now - found.at) / openMs);
      found.at = now;
      if (found.opens < 1) return null;
      found.opens--;
      site = open();
    } else found.sites.delete(key);
    found.sites.set(key, site);
    dropOldest(found.sites, SITES_OF_ONE_MAX);
    return site;
  }

  forget(project: string, key: string): void {
    this.#plain.delete(key);
    this.#projects.get(project)?.sites.delete(key);
  }

  #projectOf(name: string): Project<Site> {
    const found = this.#projects.get(name) ?? { sites: new Map(), opens: opensAtOnce, at: this.#now() };
    this.#projects.delete(name);
    this.#projects.set(name, found);
    dropOldest(this.#projects, PROJECTS_MAX);
    return found;
  }
}

function dropOldest(map: Map<string, unknown>, most: number): void {
  if (map.size > most) for (const oldest of map.keys()) if (map.delete(oldest)) break;
}
