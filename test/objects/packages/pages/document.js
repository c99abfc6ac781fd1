// A text field that is a document of y-partyserver, for the test in Chromium.
import Provider from 'y-partyserver/provider';
import { Doc } from 'yjs';

const doc = new Doc();
const text = doc.getText('text');
new Provider(location.host, 'notes', doc, { party: 'document', disableBc: true });
const field = document.createElement('textarea');
field.setAttribute('aria-label', 'Document');
document.body.append(field);
text.observe(() => {
  const caret = field.selectionStart + Math.max(0, text.length - field.value.length);
  const isBehind = field.selectionStart === field.value.length;
  field.value = text.toString();
  if (!isBehind) field.setSelectionRange(caret, caret);
});
field.addEventListener('input', () => {
  const [before, now] = [text.toString(), field.value];
  let start = 0;
  while (start < Math.min(before.length, now.length) && before[start] === now[start]) start++;
  let end = 0;
  while (end < Math.min(before.length, now.length) - start && before.at(-1 - end) === now.at(-1 - end)) end++;
  doc.transact(() => {
    text.delete(start, before.length - start - end);
    text.insert(start, now.slice(start, now.length - end));
  });
});
