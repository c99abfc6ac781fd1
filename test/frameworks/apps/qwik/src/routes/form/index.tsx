import { component$ } from '@builder.io/qwik';
import { Form, routeAction$ } from '@builder.io/qwik-city';

export const useSend = routeAction$((data) => ({ thanks: `Thanks, ${data.name}` }));

export default component$(() => {
  const send = useSend();
  return (
    <Form action={send}>
      <input name="name" />
      <button>Send</button>
      {send.value && <p>{send.value.thanks}</p>}
    </Form>
  );
});
