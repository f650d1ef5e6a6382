"""The directive `command-options`: every verb of the command with its arguments and options, from the code itself."""

from docutils import nodes
from docutils.parsers.rst import Directive

from fbtwsvm.cli.app import _VERBS, load_verb


def _definition(names, text):
    item = nodes.definition_list_item()
    term = nodes.term()
    for number, name in enumerate(names):
        if number:
            term += nodes.Text(", ")
        term += nodes.literal(name, name)
    item += [term, nodes.definition("", nodes.paragraph(text=text))]
    return item


class CommandOptions(Directive):
    """A section for each verb."""

    def run(self):
        """Return the sections."""
        made = []
        for verb, (summary, example) in _VERBS.items():
            section = nodes.section(ids=[f"verb-{verb}"])
            section += nodes.title(text=verb)
            section += nodes.paragraph(text=summary)
            section += nodes.literal_block(example, example, language="text")
            options = nodes.definition_list()
            for parameter in load_verb(verb).params:
                if getattr(parameter, "hidden", False):
                    continue
                names = [*parameter.opts, *parameter.secondary_opts]
                if parameter.param_type_name == "argument":
                    names = [
                        parameter.make_metavar_name() if hasattr(parameter, "make_metavar_name") else names[0].upper()
                    ]
                text = (getattr(parameter, "help", None) or "").strip() or "(no default)"
                shown = parameter.default
                if shown not in (None, False, True, ...) and not callable(shown) and "efault" not in text:
                    text += f" Default: {shown}."
                options += _definition(names, text)
            section += options
            made.append(section)
        return made


def setup(app):
    """Add the directive."""
    app.add_directive("command-options", CommandOptions)
    return {"parallel_read_safe": True}
