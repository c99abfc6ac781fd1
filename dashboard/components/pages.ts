// A long list, a page at a time: the API gives a cursor to the next page and none back, so those of the pages before
// are kept here.
import { button } from './controls.ts';
import { element } from './element.ts';

/** Where a list stands. */
interface Pages {
  /** What asks for the page that is shown, such as `&cursor=abc`; empty for the first. */
  readonly query: string;
  /** Of the page that is shown, from 1. */
  readonly number: number;
  /** Back to the first page, since the list is another one now. */
  reset(): void;
  /** Buttons to the pages before and after; null where there is one page. @param next cursor of the next one. */
  bar(next: string | number | null): HTMLElement | null;
}

/** @param what is listed, for those who hear the buttons. @param name of the parameter that takes a cursor. */
export function createPages(what: string, refresh: () => Promise<void>, name = 'cursor'): Pages {
  let cursors: (string | number)[] = [];
  return {
    get query() {
      const cursor = cursors.at(-1);
      return cursor === undefined ? '' : `&${name}=${encodeURIComponent(cursor)}`;
    },
    get number() {
      return cursors.length + 1;
    },
    reset() {
      cursors = [];
    },
    bar(next) {
      if (next === null && cursors.length === 0) return null;
      const turn = (to: (string | number)[]) => () => {
        cursors = to;
        return refresh();
      };
      const back = button('Previous', turn(cursors.slice(0, -1)), { about: what });
      const on = button('Next', turn([...cursors, next ?? '']), { about: what });
      back.disabled = cursors.length === 0;
      on.disabled = next === null;
      return element('p', { class: 'row' }, back, on, element('span', {}, `Page ${cursors.length + 1}`));
    },
  };
}
