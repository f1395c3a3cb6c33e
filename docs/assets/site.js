// What the two searching pages share. Every text of a user or of a file becomes a text node.
export const $ = (id) => document.getElementById(id);

export const make = (tag, className, ...children) => {
  const element = document.createElement(tag);
  if (className) element.className = className;
  element.append(...children);
  return element;
};

export const linked = (address, text) => {
  const link = make("a", "", text);
  link.href = address;
  return link;
};

const loaded = new Map();
// A file of this site, as JSON; `.bin` is compressed as zlib does. Each is fetched once.
export const load = (address) => {
  const at = new URL(address, import.meta.url).href;
  if (!loaded.has(at)) {
    loaded.set(at, (async () => {
      const answer = await fetch(at);
      if (!answer.ok) throw new Error(at + ": HTTP " + answer.status);
      if (!at.endsWith(".bin")) return answer.json();
      return new Response(answer.body.pipeThrough(new DecompressionStream("deflate"))).json();
    })());
    loaded.get(at).catch(() => loaded.delete(at));
  }
  return loaded.get(at);
};

// A command that can be copied.
export const command = (text) => {
  const button = make("button", "md-button", "Copy");
  button.type = "button";
  button.addEventListener("click", async () => {
    await navigator.clipboard.writeText(text);
    button.textContent = "Copied";
    setTimeout(() => { button.textContent = "Copy"; }, 1500);
  });
  return make("div", "abi-command", make("pre", "", make("code", "", text)), button);
};

// A form whose text is in the address, so that a link repeats the search. `search` gets the text; its errors are shown.
export const searching = (form, input, output, search) => {
  let turn = 0;
  const run = async (remembered) => {
    const text = input.value.trim();
    const mine = ++turn;
    if (remembered) history.replaceState(null, "", "#" + new URLSearchParams({ q: text }));
    output.setAttribute("aria-busy", "true");
    let found;
    try {
      found = text ? await search(text) : [];
    } catch (error) {
      found = [make("p", "abi-bad", "The data could not be loaded: " + error.message)];
    }
    if (mine !== turn) return;
    output.replaceChildren(...found);
    output.removeAttribute("aria-busy");
  };
  const read = () => {
    input.value = new URLSearchParams(location.hash.slice(1)).get("q") || input.value;
    if (input.value) run(false);
  };
  form.addEventListener("submit", (event) => { event.preventDefault(); run(true); });
  addEventListener("hashchange", read);
  read();
};
